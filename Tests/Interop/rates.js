// Measures how fast PouchDB 2.2.3 pushes documents to Divan's listener, and pulls them from there.
//
//   node rates.js BUNDLE SERVER [COUNT]
'use strict';
const { load } = require('./browser.js');
const { Divan, Pouch } = require('./sides.js');

const [bundle, server, count = '10000'] = process.argv.slice(2);
const PouchDB = load(bundle);

function print(direction, begin) {
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  console.log(`PouchDB ${direction}: ${count} documents in ${seconds.toFixed(2)} s, ${Math.round(count / seconds)} each second`);
}

async function main() {
  const divan = new Divan(server, `rates-${process.pid}`);
  await divan.create();
  const source = new Pouch(PouchDB, 'source');
  for (let first = 0; first < count; first += 1000) {
    const docs = [];
    for (let n = first; n < Math.min(first + 1000, count); n++) {
      docs.push({ _id: `document ${n}`, type: 'note', number: n, text: 'tea and cake. '.repeat(18) });
    }
    await source.database.bulkDocs({ docs });
  }
  let begin = process.hrtime.bigint();
  await source.push(divan);
  print('push', begin);
  const target = new Pouch(PouchDB, 'target');
  begin = process.hrtime.bigint();
  await target.pull(divan);
  print('pull', begin);
  for (const { database } of [source, target]) {
    const { doc_count } = await database.info();
    if (doc_count !== Number(count)) throw new Error(`${doc_count} documents instead of ${count}`);
  }
  if (await divan.changeCount() !== Number(count)) throw new Error('the listener lacks documents');
}

main().then(() => process.exit(0), error => {
  console.error(error);
  process.exit(1);
});
