// A plain model of what both sides have: all revisions that either made. No store is asked for it.
'use strict';
const assert = require('assert');

// A generator of random numbers from a seed (mulberry32).
function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6D2B79F5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {
    below: count => Math.floor(next() * count),
    of: list => list[Math.floor(next() * list.length)],
    digest: () => Array.from({ length: 32 }, () => Math.floor(next() * 16).toString(16)).join(''),
    bytes: size => Buffer.from(Array.from({ length: size }, () => Math.floor(next() * 256))),
  };
}

const generation = revision => Number(revision.split('-')[0]);

class Model {
  documents = new Map();

  // Records a revision; `attachments` has the content of each in base64 by its name.
  add(id, revision, parent, { deleted = false, properties = {}, attachments = {} }) {
    if (!this.documents.has(id)) this.documents.set(id, new Map());
    this.documents.get(id).set(revision, { parent, leaf: { revision, deleted, properties, attachments } });
  }

  // The revision and its ancestors, newest first.
  history(id, revision) {
    const result = [];
    for (let each = revision; each; each = this.documents.get(id).get(each).parent) result.push(each);
    return result;
  }

  // What each side has when everything is replicated: the leaves of each document, and its winner.
  contents() {
    const result = {};
    for (const [id, revisions] of this.documents) {
      const parents = new Set([...revisions.values()].map(each => each.parent));
      const leaves = [...revisions.values()].map(each => each.leaf).filter(leaf => !parents.has(leaf.revision));
      leaves.sort(byRevision);
      // A revision that lives wins over a deleted one; then the greater generation, then the greater digest.
      const winner = [...leaves].sort((a, b) =>
        (a.deleted - b.deleted) || (generation(b.revision) - generation(a.revision)) || -byText(a.revision, b.revision));
      result[id] = { winner: winner[0].revision, leaves };
    }
    return result;
  }
}

const byText = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
const byRevision = (a, b) => byText(a.revision, b.revision);

// A leaf as a side returns it: without members of the protocol.
function leaf(document, attachments) {
  const properties = Object.fromEntries(Object.entries(document).filter(([name]) => !name.startsWith('_')));
  return { revision: document._rev, deleted: document._deleted === true, properties, attachments };
}

function expectSame(found, expected, message) {
  const ids = new Set([...Object.keys(found), ...Object.keys(expected)]);
  for (const id of ids) assert.deepStrictEqual(found[id], expected[id], `${message}: the document ${id}`);
}

module.exports = { Model, random, leaf, byRevision, byText, expectSame };
