// The two sides of a replication, each with the same calls: PouchDB in memory, and a Divan store behind its listener.
'use strict';
const http = require('http');
const { leaf, byRevision } = require('./model.js');

// Sends a request as another program would, and returns the bytes of the answer.
function request(method, url, body) {
  return new Promise((resolve, reject) => {
    const data = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const headers = data ? { 'Content-Type': 'application/json', 'Content-Length': data.length } : {};
    const sent = http.request(url, { method, headers: { Accept: '*/*', ...headers }, agent: false });
    sent.on('error', reject);
    sent.on('response', response => {
      const pieces = [];
      response.on('error', reject);
      response.on('data', piece => pieces.push(piece));
      response.on('end', () => {
        const bytes = Buffer.concat(pieces);
        if (response.statusCode < 300) return resolve(bytes);
        reject(new Error(`${method} ${url} was answered with ${response.statusCode}: ${bytes}`));
      });
    });
    sent.end(data);
  });
}

class Divan {
  constructor(server, name) { this.url = `${server}/${name}`; }

  create() { return request('PUT', this.url); }

  async json(method, path, body) { return JSON.parse(await request(method, this.url + path, body)); }

  // Stores a revision with its history, newest first, as a replicator does.
  async insert(id, history, { deleted = false, properties = {}, attachments = {} }) {
    const [generation] = history[0].split('-');
    const document = {
      _id: id, _rev: history[0],
      _revisions: { start: Number(generation), ids: history.map(each => each.split('-')[1]) }, ...properties,
    };
    if (deleted) document._deleted = true;
    const names = Object.keys(attachments);
    if (names.length) {
      document._attachments = Object.fromEntries(
        names.map(name => [name, { content_type: 'application/octet-stream', data: attachments[name] }]));
    }
    const refused = await this.json('POST', '/_bulk_docs', { new_edits: false, docs: [document] });
    if (refused.length) throw new Error(JSON.stringify(refused));
  }

  async contents() {
    const { results } = await this.json('GET', '/_changes?style=all_docs');
    const docs = results.flatMap(row => row.changes.map(({ rev }) => ({ id: row.id, rev })));
    const result = Object.fromEntries(
      results.map(row => [row.id, { winner: row.changes[0].rev, leaves: [] }]));
    const answer = docs.length ? await this.json('POST', '/_bulk_get', { docs }) : { results: [] };
    for (const { id, docs } of answer.results) {
      for (const { ok } of docs) {
        const attachments = {};
        for (const name of Object.keys(ok._attachments ?? {})) {
          const path = `/${encodeURIComponent(id)}/${encodeURIComponent(name)}?rev=${ok._rev}`;
          attachments[name] = (await request('GET', this.url + path)).toString('base64');
        }
        result[id].leaves.push(leaf(ok, attachments));
      }
    }
    for (const { leaves } of Object.values(result)) leaves.sort(byRevision);
    return result;
  }

  // The leaves of a document that are here, by their IDs.
  async leaves(id) {
    const { results } = await this.json('POST', '/_changes?style=all_docs&filter=_doc_ids', { doc_ids: [id] });
    return results.flatMap(row => row.changes.map(({ rev }) => rev));
  }

  // The number of the last change: each stored revision has one.
  async changeCount() { return parseInt((await this.json('GET', '/_changes')).last_seq, 10); }
}

class Pouch {
  constructor(PouchDB, name) {
    this.PouchDB = PouchDB;
    this.database = new PouchDB(name, { adapter: 'memory' });
  }

  // Stores a revision on top of another, and returns its ID.
  async edit(id, parent, { deleted = false, properties = {}, attachments = {} }) {
    const document = { _id: id, ...properties };
    if (parent) document._rev = parent;
    if (deleted) document._deleted = true;
    const names = Object.keys(attachments);
    if (names.length) {
      document._attachments = Object.fromEntries(
        names.map(name => [name, { content_type: 'application/octet-stream', data: attachments[name] }]));
    }
    // `put` returns the revision that wins, which need not be the new one.
    const before = new Set(await this.leaves(id));
    await this.database.put(document);
    const added = (await this.leaves(id)).filter(each => !before.has(each));
    if (added.length !== 1) throw new Error(`PouchDB stored ${added.length} revisions of ${id}`);
    return added[0];
  }

  async contents() {
    const result = {};
    const { results } = await this.database.changes({ style: 'main_only' });
    for (const { id, changes } of results) {
      const deleted = await this.deletedLeaves(id);
      const leaves = (await this.database.get(id, { open_revs: 'all', attachments: true })).map(({ ok }) => {
        const entries = Object.entries(ok._attachments ?? {}).map(([name, { data }]) => [name, data]);
        return { ...leaf(ok, Object.fromEntries(entries)), deleted: deleted.has(ok._rev) };
      });
      result[id] = { winner: changes[0].rev, leaves: leaves.sort(byRevision) };
    }
    return result;
  }

  // The leaves that are deleted. A document of a branch that does not win lacks its `_deleted`, so the tree counts.
  async deletedLeaves(id) {
    const tree = await new Promise((resolve, reject) =>
      this.database._getRevisionTree(id, (error, tree) => (error ? reject(error) : resolve(tree))));
    const deleted = new Set();
    const visit = (generation, [digest, { deleted: isDeleted }, children]) => {
      if (!children.length && isDeleted) deleted.add(`${generation}-${digest}`);
      for (const child of children) visit(generation + 1, child);
    };
    for (const { pos, ids } of tree) visit(pos, ids);
    return deleted;
  }

  // The leaves of a document that are here, by their IDs.
  async leaves(id) {
    const leaves = await this.database.get(id, { open_revs: 'all' }).catch(error => {
      if (error.status === 404) return [];
      throw error;
    });
    return leaves.map(({ ok }) => ok._rev);
  }

  // After some failures a replication of PouchDB 2.2.3 never ends, so a cut one has a time limit in milliseconds.
  replicate(source, target, options = {}) {
    return new Promise((resolve, reject) => {
      const timer = this.timeLimit && setTimeout(() => {
        replication.cancel();
        reject(new Error('the replication did not end'));
      }, this.timeLimit);
      const replication = this.PouchDB.replicate(source, target, options, (error, result) => {
        clearTimeout(timer);
        if (error) return reject(error);
        if (!result.ok || result.errors.length) return reject(new Error(JSON.stringify(result)));
        resolve(result);
      });
    });
  }

  pull(divan) { return this.replicate(divan.url, this.database); }
  push(divan) { return this.replicate(this.database, divan.url); }
  // PouchDB's feed skips the change of a branch that does not win, unless it is read from the beginning.
  pushAll(divan) { return this.replicate(this.database, divan.url, { since: 0 }); }
}

module.exports = { Divan, Pouch, request };
