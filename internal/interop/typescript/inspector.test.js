// Asks the Inspector's command line, in each era, for everything it can ask of resources.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { text } from 'node:stream/consumers'

import { Tree, notes, pixel } from './tree.js'
import { Wire, checkLegacy, checkModern, said } from './wire.js'

const inspector = fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector/package.json').replace('package.json', 'clients/launcher/build/index.js'))

// The time bounds a whole walk, which takes some seconds: nothing waits for it to pass.
for (const era of ['legacy', 'auto', 'modern']) {
  test(`inspector, ${era}`, { timeout: 240_000 }, async (t) => {
    const tree = await Tree.plant(t)
    const { resources } = await succeeds(t, tree, era, 'resources/list')
    assert.deepEqual(resources.map((resource) => resource.name).sort(), await tree.names())

    const uris = new Map(resources.map(({ name, uri }) => [name, uri]))
    const read = async (uri) => (await succeeds(t, tree, era, 'resources/read', '--uri', uri)).contents
    let uri = uris.get('notes.md')
    assert.deepEqual(await read(uri), [{ uri, mimeType: 'text/markdown', text: notes }])
    const directory = uri.replace(/[^/]*$/, '')
    uri = uris.get('pixel.png')
    assert.deepEqual(await read(uri), [{ uri, mimeType: 'image/png', blob: pixel.toString('base64') }])
    uri = directory + 'docs/'
    const children = `${uris.get('docs/guide.md')}\r\n${uri}deep/\r\n`
    assert.deepEqual(await read(uri), [{ uri, mimeType: 'text/uri-list', text: children }])

    const { resourceTemplates } = await succeeds(t, tree, era, 'resources/templates/list')
    assert.deepEqual(resourceTemplates.map((template) => template.uriTemplate), [directory + '{+path}'])

    const { status, stderr } = await inspect(t, tree, era, 'resources/read', '--uri', directory + 'absent')
    assert.notEqual(status, 0)
    assert.match(stderr, /resource not found/)
  })
}

async function succeeds(t, tree, era, method, ...args) {
  const { status, stdout, stderr } = await inspect(t, tree, era, method, ...args)
  assert.equal(stderr, '')
  assert.equal(status, 0)
  return JSON.parse(stdout).result
}

// inspect runs the Inspector once, to its end, and checks what passed between it and the server.
async function inspect(t, tree, era, method, ...args) {
  const wire = await Wire.open(t)
  const server = wire.command(tree.root)
  const home = path.join(tree.root, '.home') // without settings, and not served
  const child = spawn(
    process.execPath,
    [inspector, '--cli', '--protocol-era', era, '--format', 'json', '--method', method, ...args, '--', server.command, ...server.args],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: home } },
  )
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  await wire.ended(1)
  const record = wire.records.at(-1)
  if (era === 'legacy') checkLegacy(record)
  else checkModern(record)
  assert.equal(said(record, 'client').some((message) => message.method === method), true, method)
  return { status, stdout, stderr }
}
