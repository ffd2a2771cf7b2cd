// Replicates between PouchDB 2.2.3 and a server with users, and compares both.
//
//   node pouchdb.js BUNDLE HOST:PORT
'use strict';
const assert = require('assert');
const { load } = require('../../../Tests/Interop/browser.js');
const { Pouch, request } = require('../../../Tests/Interop/sides.js');

const [bundle, host] = process.argv.slice(2);
const PouchDB = load(require('path').resolve(bundle));
assert.strictEqual(PouchDB.version, '2.2.3');

const ada = { url: name => `http://ada:secret-of-ada@${host}/${name}` };
const guest = { url: name => `http://guest:other@${host}/${name}` };

// Sends a request as ada.
async function send(method, path, body) {
  return JSON.parse(await request(method, ada.url(path), body));
}

// The winning revisions of a database with their properties and attachments, by ID.
async function served(name) {
  const { rows } = await send('GET', `${name}/_all_docs?include_docs=true&attachments=true`);
  return Object.fromEntries(rows.map(({ doc }) => [doc._id, plain(doc)]));
}

async function local(pouch) {
  const { rows } = await pouch.database.allDocs({ include_docs: true });
  const docs = await Promise.all(rows.map(({ id }) => pouch.database.get(id, { attachments: true })));
  return Object.fromEntries(docs.map(doc => [doc._id, plain(doc)]));
}

function plain({ _attachments = {}, ...members }) {
  const attachments = Object.entries(_attachments).map(([name, { data }]) => [name, data]);
  return { ...members, attachments: Object.fromEntries(attachments.sort()) };
}

async function sync(pouch, name) {
  await pouch.push({ url: ada.url(name) });
  await pouch.pull({ url: ada.url(name) });
}

async function expectSame(pouch, name, count) {
  const [here, there] = [await local(pouch), await served(name)];
  assert.deepStrictEqual(here, there);
  assert.strictEqual(Object.keys(here).length, count);
}

const cases = {
  async ids(pouch, name) {
    for (const id of ['a', 'ä/b c', 'p+q', 'x:y', '日本', '😀', 'q?r=1&s#t', '../../etc']) {
      await send('PUT', `${name}/${encodeURIComponent(`divan ${id}`)}`, { text: `“${id}”` });
      await pouch.database.put({ _id: `pouch ${id}`, text: `“${id}”` });
    }
    await sync(pouch, name);
    await expectSame(pouch, name, 16);
  },

  async changes(pouch, name) {
    for (let i = 0; i < 300; i++) await pouch.database.put({ _id: `doc ${i}`, i });
    await sync(pouch, name);
    await expectSame(pouch, name, 300);
    for (let i = 0; i < 300; i += 3) {
      const { _rev } = await send('GET', `${name}/doc%20${i}`);
      if (i % 2) await send('DELETE', `${name}/doc%20${i}?rev=${_rev}`);
      else await send('PUT', `${name}/doc%20${i}`, { _rev, i, changed: true });
    }
    await sync(pouch, name);
    await expectSame(pouch, name, 250);
  },

  async attachments(pouch, name) {
    const data = Buffer.from(Array.from({ length: 200000 }, (_, i) => (i * 31) & 0xff)).toString('base64');
    const attachment = { content_type: 'application/octet-stream', data };
    await pouch.database.put({ _id: 'pouch', _attachments: { 'a b': attachment } });
    await send('PUT', `${name}/divan`, { _attachments: { 'c/d': attachment } });
    await sync(pouch, name);
    await expectSame(pouch, name, 2);
  },

  async conflicts(pouch, name) {
    await pouch.database.put({ _id: 'film', title: 'Metropolis' });
    await sync(pouch, name);
    const { _rev } = await send('GET', `${name}/film`);
    await send('PUT', `${name}/film`, { _rev, title: 'there' });
    await pouch.database.put({ _id: 'film', _rev, title: 'here' });
    await sync(pouch, name);
    await expectSame(pouch, name, 1);
    const document = await send('GET', `${name}/film?conflicts=true`);
    assert.strictEqual(document._conflicts.length, 1);
  },

  async users(pouch, name) {
    await send('PUT', `${name}/film`, { title: 'Metropolis' });
    await pouch.pull({ url: guest.url(name) });
    assert.strictEqual((await pouch.database.get('film')).title, 'Metropolis');
    await pouch.database.put({ _id: 'mine' });
    pouch.timeLimit = 5000;
    await assert.rejects(pouch.push({ url: guest.url(name) }));
    assert.deepStrictEqual(Object.keys(await served(name)), ['film']);
    await assert.rejects(request('GET', `http://ada:wrong@${host}/${name}`), /401/);
  },
};

(async () => {
  for (const [name, run] of Object.entries(cases)) {
    await run(new Pouch(PouchDB, `${name}-${process.pid}`), name);
    console.log(`passed: PouchDB, ${name}`);
  }
  // A replication that was refused may never end, and would keep the process alive.
  process.exit(0);
})().catch(error => {
  console.error('failed:', error);
  process.exit(1);
});
