// What PouchDB 2.2.3 expects of a browser: XMLHttpRequest, over node's own HTTP. Its requests can be cut.
'use strict';
const http = require('http');

class XMLHttpRequest {
  // Returns how a request is cut: null, 'before' it is sent, 'after' it was answered, or a number of bytes of the answer.
  static cut = () => null;
  static requestCount = 0;

  constructor() {
    this.readyState = 0;
    this.status = 0;
    this.statusText = '';
    this.responseText = '';
    this.response = '';
    this.responseType = '';
    this.upload = {};
    this.headers = {};
    this.received = {};
  }

  open(method, url) {
    this.method = method;
    this.url = url;
    this.readyState = 1;
  }

  setRequestHeader(name, value) { this.headers[name] = value; }
  getResponseHeader(name) { return this.received[name.toLowerCase()] ?? null; }

  send(body) {
    const cut = XMLHttpRequest.cut(++XMLHttpRequest.requestCount);
    if (cut === 'before') return void setImmediate(() => this.finish(0));
    const data = body == null ? null : Buffer.from(body, 'utf8');
    const headers = { ...this.headers };
    if (data) headers['Content-Length'] = data.length;
    const request = http.request(this.url, { method: this.method, headers, agent: false });
    this.request = request;
    request.on('error', () => this.finish(0));
    request.on('response', response => {
      const pieces = [];
      let size = 0;
      response.on('data', piece => {
        pieces.push(piece);
        size += piece.length;
        if (typeof cut === 'number' && size > cut) request.destroy();
      });
      response.on('error', () => this.finish(0));
      response.on('aborted', () => this.finish(0));
      response.on('end', () => {
        this.received = response.headers;
        const bytes = Buffer.concat(pieces);
        const length = response.headers['content-length'];
        const isWhole = this.method === 'HEAD' || length === undefined || bytes.length === Number(length);
        if (cut === 'after' || (typeof cut === 'number' && size > cut) || !isWhole) return this.finish(0);
        this.responseText = bytes.toString('utf8');
        this.response = this.responseType === 'arraybuffer'
          ? bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) : this.responseText;
        this.finish(response.statusCode, response.statusMessage);
      });
    });
    request.end(data);
  }

  finish(status, text = '') {
    if (this.readyState === 4) return;
    this.status = status;
    this.statusText = text;
    this.readyState = 4;
    if (this.onreadystatechange) this.onreadystatechange();
  }

  abort() { if (this.request) this.request.destroy(); }
}

// Loads PouchDB as a script of a page.
function load(bundle) {
  globalThis.window = globalThis;
  globalThis.self = globalThis;
  globalThis.XMLHttpRequest = XMLHttpRequest;
  (0, eval)(require('fs').readFileSync(bundle, 'utf8'));
  return globalThis.PouchDB;
}

module.exports = { XMLHttpRequest, load };
