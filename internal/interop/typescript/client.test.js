// Takes the TypeScript client, in each way it has of finding out the revision, through everything that the server offers.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

import { Tree, notes, pixel } from './tree.js'
import { Wire, cancelled, checkLegacy, checkModern, checkRefused, checkStatuses, said, subscriptionOf } from './wire.js'

const modes = [
  { name: 'legacy', mode: 'legacy', version: '2025-11-25', processes: 1 },
  // The first of two processes is only asked what it speaks.
  { name: 'auto', mode: 'auto', version: '2026-07-28', processes: 2 },
  { name: 'pinned', mode: { pin: '2026-07-28' }, version: '2026-07-28', processes: 2 },
]

const token = 'open-sesame'
const carriers = {
  stdio: (wire, root) => new StdioClientTransport({ ...wire.command(root), stderr: 'inherit' }),
  http: async (wire, root) => overHTTP(await wire.serve(root, token), token),
}

function overHTTP(url, token) {
  return new StreamableHTTPClientTransport(new URL(url), token && { authProvider: { token: async () => token } })
}

// The time bounds a whole walk, which takes a second or two: nothing waits for it to pass.
for (const [carrier, carry] of Object.entries(carriers)) {
  for (const { name, mode, version, processes } of modes) {
    test(`client, ${name}, ${carrier}`, { timeout: 120_000 }, async (t) => {
      const walker = new Walker(await Tree.plant(t), await Wire.open(t), mode)
      t.after(() => walker.client.close()) // or the server would outlive a test that fails
      await walker.client.connect(await carry(walker.wire, walker.tree.root))
      assert.equal(walker.client.getNegotiatedProtocolVersion(), version)
      await walker.lists()
      await walker.reads()
      await walker.knowsTemplates()
      await walker.hearsOfSaves()
      await walker.hearsOfTheList()
      const narrowed = await walker.narrows()

      await walker.close()
      await walker.wire.ended(carrier === 'http' ? 1 : processes)
      assert.deepEqual(walker.wrong, [], 'errors that the client reports')
      for (const probe of walker.wire.records.slice(0, -1)) {
        assert.deepEqual(said(probe, 'client').map((message) => message.method), ['server/discover'])
      }
      walker.checkEnd(version, narrowed)
      checkStatuses(walker.wire.records.at(-1), carrier === 'http' && mode === 'legacy' ? ['DELETE 204'] : [])
    })
  }
}

for (const { name, mode } of modes) {
  for (const [which, wrong] of [['no', undefined], ['a wrong', 'open-barley']]) {
    test(`client, ${name}, ${which} token`, { timeout: 120_000 }, async (t) => {
      const { client, wire, tree } = new Walker(await Tree.plant(t), await Wire.open(t), mode)
      t.after(() => client.close())
      const url = await wire.serve(tree.root, token)
      await assert.rejects(client.connect(overHTTP(url, wrong)))
      await client.close()
      await wire.ended(1)
      checkRefused(wire.records[0])
    })
  }
}

class Walker {
  wrong = [] // what the client reports as errors
  heard = [] // the URIs that were updated, and the names of the list each time that changed, not yet taken in
  #hear = () => {} // called when heard grows
  #subscription // modern only
  #watched = []

  // A walker has a client that is not connected yet.
  constructor(tree, wire, mode) {
    this.tree = tree
    this.wire = wire
    const tell = (notice) => {
      this.heard.push(notice)
      this.#hear()
    }
    this.client = new Client(
      { name: 'interop', version: '1' },
      {
        versionNegotiation: { mode },
        listChanged: {
          resources: {
            debounceMs: 0,
            onChanged: (error, resources) => tell(error ?? resources.map((resource) => resource.name).sort()),
          },
        },
      },
    )
    this.client.onerror = (error) => this.wrong.push(error)
    this.client.setNotificationHandler('notifications/resources/updated', ({ params }) => tell(params.uri))
  }

  // close ends the session too, where there is one.
  async close() {
    await this.client.transport.terminateSession?.()
    await this.client.close()
  }

  get modern() {
    return this.client.getProtocolEra() === 'modern'
  }

  // directory returns the URI of the directory that a listed file is in.
  directory(name) {
    return this.uris.get(name).replace(/[^/]*$/, '')
  }

  async lists() {
    const { resources } = await this.client.listResources()
    this.uris = new Map(resources.map(({ name, uri }) => [name, uri]))
    assert.deepEqual(resources.map((resource) => resource.name).sort(), await this.tree.names())
  }

  async text(name) {
    const { contents } = await this.client.readResource({ uri: this.uris.get(name) })
    return contents[0].text
  }

  async reads() {
    const read = async (uri) => {
      const { contents } = await this.client.readResource({ uri })
      return contents
    }
    let uri = this.uris.get('notes.md')
    assert.deepEqual(await read(uri), [{ uri, mimeType: 'text/markdown', text: notes }])
    uri = this.uris.get('pixel.png')
    assert.deepEqual(await read(uri), [{ uri, mimeType: 'image/png', blob: pixel.toString('base64') }])
    uri = this.directory('docs/guide.md')
    const [directory] = await read(uri)
    assert.equal(directory.uri, uri)
    assert.equal(directory.mimeType, 'text/uri-list')
    const children = [this.directory('docs/deep/leaf.txt'), this.uris.get('docs/guide.md')]
    assert.deepEqual(directory.text.split('\r\n').sort(), ['', ...children])
    await assert.rejects(read(uri + 'absent'), /resource not found/)
  }

  async knowsTemplates() {
    const { resourceTemplates } = await this.client.listResourceTemplates()
    const uri = this.directory('notes.md') + '{+path}'
    assert.deepEqual(resourceTemplates.map((template) => template.uriTemplate), [uri])
    if (!this.client.getServerCapabilities().completions) return
    for (const [value, values] of [['no', ['notes.md']], ['docs/g', ['docs/guide.md']], ['x', []]]) {
      const { completion } = await this.client.complete({ ref: { type: 'ref/resource', uri }, argument: { name: 'path', value } })
      assert.deepEqual(completion.values, values, value)
    }
  }

  // watch watches these URIs, and no others from now on.
  async watch(...uris) {
    if (this.modern) {
      const previous = this.#subscription
      this.#subscription = undefined
      if (uris.length > 0) {
        this.#subscription = await this.client.listen({ resourceSubscriptions: uris })
        assert.deepEqual(this.#subscription.honoredFilter.resourceSubscriptions, uris)
      }
      await previous?.close()
      await this.wire.until((records) => this.listening(records.at(-1)) === (uris.length > 0 ? 1 : 0))
      return
    }
    for (const uri of this.#watched) await this.client.unsubscribeResource({ uri })
    for (const uri of uris) await this.client.subscribeResource({ uri })
    this.#watched = uris
  }

  // listening returns how many listens for URIs the client has asked for and not cancelled. Over HTTP a cancel is seen later
  // than the end of close.
  listening(record) {
    const gone = cancelled(record)
    const asked = said(record, 'client').filter((m) => m.params?.notifications?.resourceSubscriptions?.length > 0)
    return asked.filter((message) => !gone.includes(message.id)).length
  }

  // hears waits for a notice. Another one before it is wrong.
  async hears(notice) {
    while (this.heard.length === 0) await new Promise((resolve) => (this.#hear = resolve))
    assert.deepEqual(this.heard.shift(), notice)
  }

  async hearsOfSaves() {
    assert.equal(this.client.getServerCapabilities().resources.subscribe, true)
    await this.watch(this.uris.get('notes.md'), this.directory('docs/guide.md'))
    await this.tree.append('notes.md', 'more\n')
    await this.hears(this.uris.get('notes.md'))
    assert.equal(await this.text('notes.md'), notes + 'more\n')
    await this.tree.save('notes.md', 'saved\n')
    await this.hears(this.uris.get('notes.md'))
    assert.equal(await this.text('notes.md'), 'saved\n')
    await this.tree.append('docs/deep/leaf.txt', 'more\n')
    await this.hears(this.directory('docs/guide.md'))
  }

  async hearsOfTheList() {
    assert.equal(this.client.getServerCapabilities().resources.listChanged, true)
    await this.tree.create('new.md', 'new\n')
    await this.hears(await this.tree.names())
    await this.lists()
    assert.equal(await this.text('new.md'), 'new\n')
    await this.tree.remove('new.md')
    await this.hears(await this.tree.names())
    await this.lists()
  }

  // narrows stops watching, in part and then altogether, and changes what is no longer watched each time. It returns how
  // long the record was when the server had taken in the first of it.
  async narrows() {
    const other = this.uris.get('other.md')
    await this.watch(other)
    await this.text('other.md') // asked after the cancel, so answered after it was taken in
    let narrowed
    await this.wire.until((records) => {
      const record = records.at(-1)
      const read = said(record, 'client').find((m) => m.method === 'resources/read' && m.params.uri === other)
      narrowed = record.findIndex((entry) => entry.from === 'server' && read && entry.message?.id === read.id)
      return narrowed >= 0
    })
    await this.tree.append('notes.md', 'unheard\n')
    assert.equal(await this.text('notes.md'), 'saved\nunheard\n')
    await this.tree.append('other.md', 'heard\n')
    await this.hears(other)

    await this.watch()
    assert.equal(await this.text('other.md'), 'other\nheard\n')
    await this.tree.append('other.md', 'unheard\n')
    await this.tree.remove('many/0.txt')
    await this.hears(await this.tree.names())
    return narrowed
  }

  // checkEnd looks at the whole record: after narrowing, it must speak of nothing that was not watched any more.
  checkEnd(version, narrowed) {
    const record = this.wire.records.at(-1)
    if (version === '2026-07-28') checkModern(record)
    else checkLegacy(record)

    const client = said(record, 'client')
    const server = said(record, 'server')
    const refused = server.filter((message) => message.error).map((message) => message.error.code)
    assert.deepEqual(refused, [version === '2026-07-28' ? -32602 : -32002], 'the one read of what is not there')
    const lists = client.filter((message) => message.method === 'resources/list')
    assert.equal(lists.length, 3 * 6, 'three pages, for each list that was asked for or that the client fetched itself')
    const gone = cancelled(record)
    for (const id of gone) {
      assert.deepEqual(server.filter((message) => message.id === id), [], 'a cancelled listen was answered')
    }
    const after = said(record.slice(narrowed), 'server')
    const updates = after.filter((message) => message.method === 'notifications/resources/updated')
    assert.deepEqual(updates.map((message) => message.params.uri), [this.uris.get('other.md')])
    if (version === '2026-07-28') assert.equal(gone.includes(subscriptionOf(updates[0])), true, 'the second watch was cancelled later')
    assert.deepEqual(this.heard, [])
  }
}
