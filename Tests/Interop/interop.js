// Replicates between PouchDB 2.2.3 and Divan's listener, in both directions, and compares both with a plain model.
//
//   node interop.js BUNDLE SERVER [SEED ...]
'use strict';
const assert = require('assert');
const { XMLHttpRequest, load } = require('./browser.js');
const { Model, random, expectSame } = require('./model.js');
const { Divan, Pouch } = require('./sides.js');

const [bundle, server, ...seeds] = process.argv.slice(2);
const PouchDB = load(bundle);
assert.strictEqual(PouchDB.version, '2.2.3');

let number = 0;
async function makeSides() {
  const name = `interop-${process.pid}-${++number}`;
  const sides = { divan: new Divan(server, name), pouch: new Pouch(PouchDB, name), model: new Model() };
  await sides.divan.create();
  return sides;
}

async function edit({ divan, pouch, model }, side, id, parent, content, random) {
  let revision;
  if (side === 'pouch') {
    revision = await pouch.edit(id, parent, content);
  } else {
    revision = `${parent ? parseInt(parent, 10) + 1 : 1}-${random.digest()}`;
    await divan.insert(id, [revision, ...(parent ? model.history(id, parent) : [])], content);
  }
  model.add(id, revision, parent, content);
  return revision;
}

async function expectEqual({ divan, pouch, model }, message) {
  const expected = model.contents();
  expectSame(await divan.contents(), expected, `${message}, Divan`);
  expectSame(await pouch.contents(), expected, `${message}, PouchDB`);
}

async function sync(sides) {
  await sides.pouch.push(sides.divan);
  await sides.pouch.pull(sides.divan);
}

// A replication that may be cut; returns whether it failed.
async function cutSync(sides) {
  sides.pouch.timeLimit = 1000;
  const hasFailed = await sync(sides).then(() => false, () => true);
  XMLHttpRequest.cut = () => null;
  sides.pouch.timeLimit = 0;
  return hasFailed;
}

const numbers = random(1);
const cases = {
  async 'documents arrive on both sides, with IDs of all kinds'() {
    const sides = await makeSides();
    // Not `%`: PouchDB 2.2.3 decodes an ID when it stores a document.
    const ids = ['a', 'ä/b c', 'p+q', 'x:y', '日本', '😀', 'q?r=1&s#t'];
    for (const id of ids) {
      await edit(sides, 'divan', `divan ${id}`, null, { properties: { text: `“${id}”\u0000\n`, n: [1, 2.5, null, { a: true }] } }, numbers);
      await edit(sides, 'pouch', `pouch ${id}`, null, { properties: { text: `“${id}”\n`, n: [1, 2.5, null, { a: true }] } }, numbers);
    }
    await sync(sides);
    await expectEqual(sides, 'after a replication');
  },

  async 'changes and deletions arrive on both sides'() {
    const sides = await makeSides();
    const revisions = {};
    for (const side of ['divan', 'pouch']) {
      for (const id of ['changed', 'deleted']) {
        revisions[side + id] = await edit(sides, side, side + id, null, { properties: { n: 1 } }, numbers);
      }
    }
    await sync(sides);
    for (const [made, changed] of [['divan', 'pouch'], ['pouch', 'divan']]) {
      await edit(sides, changed, `${made}changed`, revisions[`${made}changed`], { properties: { n: 2 } }, numbers);
      await edit(sides, changed, `${made}deleted`, revisions[`${made}deleted`], { deleted: true }, numbers);
    }
    await sync(sides);
    await expectEqual(sides, 'after changes');
  },

  async 'a conflict has the same winner on both sides'() {
    for (let round = 0; round < 10; round++) {
      const sides = await makeSides();
      const first = await edit(sides, 'divan', 'a', null, { properties: { n: 1 } }, numbers);
      await sync(sides);
      const second = await edit(sides, 'divan', 'a', first, { properties: { side: 'divan' } }, numbers);
      await edit(sides, 'pouch', 'a', first, { properties: { side: 'pouch' } }, numbers);
      await sync(sides);
      await expectEqual(sides, 'with two branches');
      // Not by PouchDB 2.2.3, which forgets that a branch is deleted when it sends it beside another one.
      await edit(sides, 'divan', 'a', second, { deleted: true }, numbers);
      await sync(sides);
      await expectEqual(sides, 'with one branch deleted');
    }
  },

  async 'attachments arrive on both sides'() {
    const sides = await makeSides();
    for (const side of ['divan', 'pouch']) {
      for (const size of [0, 1, 1000, 300000]) {
        const attachments = { 'data +1': numbers.bytes(size).toString('base64'), b: numbers.bytes(3).toString('base64') };
        const id = `${side} ${size}`;
        const first = await edit(sides, side, id, null, { properties: { size }, attachments }, numbers);
        await sync(sides);
        const other = side === 'pouch' ? 'divan' : 'pouch';
        await edit(sides, other, id, first, { properties: { size, again: true }, attachments }, numbers);
      }
    }
    await sync(sides);
    await expectEqual(sides, 'with attachments');
  },

  async 'a replication that is cut at any request is completed by the next one'() {
    for (const cut of ['before', 'after', 40]) {
      for (let at = 1; ; at++) {
        const sides = await makeSides();
        for (let i = 0; i < 6; i++) {
          const attachments = i % 3 ? {} : { data: numbers.bytes(200).toString('base64') };
          await edit(sides, 'divan', `divan ${i}`, null, { properties: { i }, attachments }, numbers);
          await edit(sides, 'pouch', `pouch ${i}`, null, { properties: { i }, attachments }, numbers);
        }
        let isCut = false;
        const first = XMLHttpRequest.requestCount;
        XMLHttpRequest.cut = number => {
          if (number - first !== at) return null;
          isCut = true;
          return cut;
        };
        await cutSync(sides);
        await sync(sides);
        await expectEqual(sides, `cut ${cut} at request ${at}`);
        assert.strictEqual(await sides.divan.changeCount(), 12, `nothing is stored twice: cut ${cut} at request ${at}`);
        if (!isCut) break;
        assert(at < 200);
      }
    }
  },
};

// Random edits of both sides, replications some of which are cut, and in the end the same as the model.
async function randomEdits(seed, count) {
  const numbers = random(seed);
  const sides = await makeSides();
  let [conflicts, cuts] = [0, 0];
  for (let done = 0; done < count; done++) {
    const side = numbers.of(['divan', 'pouch']);
    const id = `doc-${numbers.below(40)}`;
    const here = await sides[side].leaves(id);
    const parent = here.length ? numbers.of(here) : null;
    const before = parent ? sides.model.documents.get(id).get(parent).leaf : null;
    // PouchDB 2.2.3 would send a deleted branch without saying so, and does not revive a document as CouchDB does.
    const isAlone = side === 'divan' || here.length === 1;
    if (side === 'pouch' && before && before.deleted) continue;
    const attachments = { ...(before ? before.attachments : {}) };
    if (numbers.below(5) === 0) attachments[numbers.of(['x', 'y z'])] = numbers.bytes(numbers.below(2000)).toString('base64');
    if (numbers.below(8) === 0) delete attachments[numbers.of(['x', 'y z'])];
    const content = before && !before.deleted && isAlone && numbers.below(6) === 0
      ? { deleted: true } : { properties: { n: done, text: 'x'.repeat(numbers.below(300)) }, attachments };
    await edit(sides, side, id, parent, content, numbers);
    if (numbers.below(25) > 0) continue;
    const from = XMLHttpRequest.requestCount + 1 + numbers.below(60);
    const cut = numbers.of(['before', 'after', 30, null]);
    XMLHttpRequest.cut = number => (number >= from ? cut : null);
    cuts += await cutSync(sides);
  }
  await sides.pouch.pushAll(sides.divan);
  await sync(sides);
  const expected = sides.model.contents();
  for (const { leaves } of Object.values(expected)) conflicts += leaves.length > 1;
  await expectEqual(sides, `seed ${seed}`);
  assert(conflicts > 0, `seed ${seed} made no conflict`);
  const made = [...sides.model.documents.values()].reduce((sum, each) => sum + each.size, 0);
  return `${made} revisions, ${conflicts} documents in conflict, ${cuts} replications cut`;
}

(async () => {
  for (const [name, run] of Object.entries(cases)) {
    const start = Date.now();
    await run();
    console.log(`passed: ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  }
  for (const seed of seeds.length ? seeds.map(Number) : [1]) {
    const start = Date.now();
    const summary = await randomEdits(seed, 1000);
    console.log(`passed: 1,000 random edits, seed ${seed}: ${summary} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
  }
  // A replication that was cut may never end, and would keep the process alive.
  process.exit(0);
})().catch(error => {
  console.error('failed:', error);
  process.exit(1);
});
