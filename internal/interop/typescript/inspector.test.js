// Asks the Inspector's command line, in each era, for everything it can ask of resources.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { text } from 'node:stream/consumers'

import { Tree, notes, pixel } from './tree.js'
import { Wire, checkLegacy, checkModern, checkRefused, said } from './wire.js'

const inspector = fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector/package.json').replace('package.json', 'clients/launcher/build/index.js'))

const token = 'open-sesame'

// How the server is named on the command line, after the options and before the target.
const carriers = {
  stdio: (wire, root) => {
    const server = wire.command(root)
    return ['--', server.command, ...server.args]
  },
  http: async (wire, root) => overHTTP(await wire.serve(root, token), token),
}

const overHTTP = (url, token) => ['--transport', 'http', '--server-url', url, ...(token ? ['--header', `Authorization: Bearer ${token}`] : [])]

// The time bounds a whole walk, which takes some seconds: nothing waits for it to pass.
for (const [carrier, carry] of Object.entries(carriers)) {
  for (const era of ['legacy', 'auto', 'modern']) {
    test(`inspector, ${era}, ${carrier}`, { timeout: 240_000 }, async (t) => {
      const tree = await Tree.plant(t)
      const ask = (method, ...args) => inspect(t, tree, carry, era, method, ...args)
      const { resources } = await succeeds(ask('resources/list'))
      assert.deepEqual(resources.map((resource) => resource.name).sort(), await tree.names())

      const uris = new Map(resources.map(({ name, uri }) => [name, uri]))
      const read = async (uri) => (await succeeds(ask('resources/read', '--uri', uri))).contents
      let uri = uris.get('notes.md')
      assert.deepEqual(await read(uri), [{ uri, mimeType: 'text/markdown', text: notes }])
      const directory = uri.replace(/[^/]*$/, '')
      uri = uris.get('pixel.png')
      assert.deepEqual(await read(uri), [{ uri, mimeType: 'image/png', blob: pixel.toString('base64') }])
      uri = directory + 'docs/'
      const children = `${uris.get('docs/guide.md')}\r\n${uri}deep/\r\n`
      assert.deepEqual(await read(uri), [{ uri, mimeType: 'text/uri-list', text: children }])

      const { resourceTemplates } = await succeeds(ask('resources/templates/list'))
      assert.deepEqual(resourceTemplates.map((template) => template.uriTemplate), [directory + '{+path}'])

      const { status, stderr } = await ask('resources/read', '--uri', directory + 'absent')
      assert.notEqual(status, 0)
      assert.match(stderr, /resource not found/)
    })
  }
}

for (const era of ['legacy', 'auto', 'modern']) {
  for (const [which, wrong] of [['no', undefined], ['a wrong', 'open-barley']]) {
    test(`inspector, ${era}, ${which} token`, { timeout: 240_000 }, async (t) => {
      const tree = await Tree.plant(t)
      const refuse = async (wire, root) => overHTTP(await wire.serve(root, token), wrong)
      const { status, record } = await run(t, tree, refuse, era, 'resources/list')
      assert.notEqual(status, 0)
      checkRefused(record)
    })
  }
}

async function succeeds(asked) {
  const { status, stdout, stderr } = await asked
  assert.equal(stderr, '')
  assert.equal(status, 0)
  return JSON.parse(stdout).result
}

// inspect runs the Inspector once and checks what passed between it and a server that has admitted it.
async function inspect(t, tree, carry, era, method, ...args) {
  const ran = await run(t, tree, carry, era, method, ...args)
  if (era === 'legacy') checkLegacy(ran.record)
  else checkModern(ran.record)
  assert.equal(said(ran.record, 'client').some((message) => message.method === method), true, method)
  return ran
}

// run runs the Inspector once, to its end, and returns with which status, what it printed, and the record.
async function run(t, tree, carry, era, method, ...args) {
  const wire = await Wire.open(t)
  const place = await carry(wire, tree.root)
  const home = path.join(tree.root, '.home') // without settings, and not served
  const child = spawn(
    process.execPath,
    [inspector, '--cli', '--protocol-era', era, '--format', 'json', '--method', method, ...args, ...place],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: home } },
  )
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  await wire.ended(1)
  return { status, stdout, stderr, record: wire.records.at(-1) }
}
