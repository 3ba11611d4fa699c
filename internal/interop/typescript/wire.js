// What passes between the program and a client, as the witness tells it, entry by entry.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import readline from 'node:readline'

const program = path.join(process.env.BIN, 'mcp-fsserve')
const witness = path.join(process.env.BIN, 'witness')

// Wire holds one record for each process that the client has started, in the order of their starts.
export class Wire {
  records = []
  #waiting = new Set() // each is called at every new entry
  #witness // over HTTP only, where no client starts it

  // open returns a wire that is closed when the test ends.
  static async open(test) {
    const wire = new Wire()
    wire.dir = await mkdtemp(path.join(tmpdir(), 'wire'))
    wire.socket = path.join(wire.dir, 's')
    wire.server = net.createServer((connection) => wire.#follow(connection))
    wire.server.listen(wire.socket)
    await once(wire.server, 'listening')
    test.after(async () => {
      wire.leave()
      wire.server.close()
      await rm(wire.dir, { recursive: true })
    })
    return wire
  }

  // command is what a client starts to be served root.
  command(root) {
    return { command: witness, args: [this.socket, program, root] }
  }

  // serve serves root over HTTP to those who have the token, until leave. It returns the URL.
  async serve(root, token) {
    const tokens = path.join(this.dir, 'tokens')
    await writeFile(tokens, `interop ${token}\n`, { mode: 0o600 })
    const args = ['-http', this.socket, program, '--http', '127.0.0.1:0', '--token-file', tokens, root]
    this.#witness = spawn(witness, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    const [url] = await once(readline.createInterface({ input: this.#witness.stdout }), 'line')
    return url
  }

  leave() {
    this.#witness?.stdin.end()
  }

  #follow(connection) {
    const record = []
    this.records.push(record)
    const lines = readline.createInterface({ input: connection, crlfDelay: Infinity })
    lines.on('line', (line) => {
      const entry = JSON.parse(line)
      if (entry.line !== undefined && entry.from !== 'stderr') {
        entry.message = JSON.parse(entry.line) // or the test fails: each line must be a message
      }
      record.push(entry)
      this.#tell()
    })
    lines.on('close', () => {
      record.closed = true
      this.#tell()
    })
  }

  #tell() {
    for (const check of this.#waiting) check()
  }

  // until waits until enough(records) is true.
  until(enough) {
    return new Promise((resolve, reject) => {
      const check = () => {
        try {
          if (!enough(this.records)) return
          this.#waiting.delete(check)
          resolve()
        } catch (error) {
          this.#waiting.delete(check)
          reject(error)
        }
      }
      this.#waiting.add(check)
      check()
    })
  }

  // ended waits for the end of all processes that a client, closed by now, has started: there must be n. It checks how
  // they ended. A process that no client has started is told to.
  async ended(n) {
    this.leave()
    await this.until((records) => records.length > 0 && records.every((record) => record.closed))
    assert.equal(this.records.length, n, 'processes started')
    for (const record of this.records) {
      assert.equal(record.at(-1)?.exit, 0, 'the exit status of the server')
      const errors = record.filter((entry) => entry.from === 'stderr').map((entry) => entry.line)
      assert.deepEqual(errors, [], 'standard error of the server')
    }
  }
}

export const said = (record, from) => record.filter((entry) => entry.from === from && entry.message).map((entry) => entry.message)

const version = 'io.modelcontextprotocol/protocolVersion'
const subscription = 'io.modelcontextprotocol/subscriptionId'

// subscriptionOf returns the id of the listen that a message belongs to.
export const subscriptionOf = (message) => message.params?._meta?.[subscription]

const isChange = (message) => /^notifications\/resources\/(updated|list_changed)$/.test(message.method ?? '')

// cancelled returns the ids of the requests that the client has cancelled.
export const cancelled = (record) =>
  said(record, 'client').filter((m) => m.method === 'notifications/cancelled').map((m) => m.params.requestId)

// checkRefused checks that the client has asked, and that everything was refused for the lack of a token.
export function checkRefused(record) {
  assert.notDeepEqual(said(record, 'client'), [], 'nothing was asked')
  for (const message of said(record, 'server')) assert.match(message.error?.message ?? 'an answer', /token/)
}

// checkStatuses checks what over HTTP came without a message: notifications are accepted, and an older client that closes
// has ended its session, which the server has confirmed.
export function checkStatuses(record, expected) {
  const statuses = record.filter((entry) => entry.http).map((entry) => entry.http)
  assert.deepEqual(statuses.filter((status) => status !== 'POST 202'), expected)
}

// checkModern checks that a record is of the 2026-07-28 revision.
export function checkModern(record) {
  for (const message of said(record, 'client')) {
    assert.notEqual(message.method, 'initialize')
    if (message.id !== undefined) assert.equal(message.params._meta[version], '2026-07-28', message.method)
  }
  for (const message of said(record, 'server').filter(isChange)) {
    assert.notEqual(subscriptionOf(message), undefined, 'a change without the listen it is for')
  }
}

// checkLegacy checks that a record is of the last revision that opens with a handshake.
export function checkLegacy(record) {
  const [first, ...rest] = said(record, 'client')
  assert.equal(first.method, 'initialize')
  assert.equal(first.params.protocolVersion, '2025-11-25')
  assert.equal(said(record, 'server')[0].result.protocolVersion, '2025-11-25')
  for (const message of rest) assert.equal(message.params?._meta?.[version], undefined, message.method)
  for (const message of said(record, 'server')) assert.equal(subscriptionOf(message), undefined, message.method)
}
