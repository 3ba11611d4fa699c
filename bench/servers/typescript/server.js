// Serves a directory with the TypeScript SDK, as its documentation has it: a resource for each file.
//
//	node server.js [-http ADDR] DIR
import { readdir, readFile } from 'node:fs/promises';
import { watch } from 'node:fs';
import { createServer } from 'node:http';
import { isUtf8 } from 'node:buffer';
import { extname, join } from 'node:path';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const base = 'test://';
const types = { '.md': 'text/markdown', '.txt': 'text/plain' };

const args = process.argv.slice(2);
const addr = args[0] === '-http' ? args.splice(0, 2)[1] : undefined;
const dir = args[0];
const entries = await readdir(dir, { recursive: true, withFileTypes: true });
const files = entries.filter((e) => e.isFile()).map((e) => join(e.parentPath, e.name).slice(dir.length + 1)).sort();

// The SDK makes a server for each request over HTTP. Resources that were registered one by one would be registered each time,
// and the SDK has no pages of those: a list of our own has.
const pageSize = 1000;

function listed(name) {
	return { uri: base + name, name, mimeType: types[extname(name)] ?? 'application/octet-stream' };
}

function newServer() {
	const mcp = new McpServer({ name: 'typescript', version: '1.0.0' },
		{ capabilities: { resources: { subscribe: true, listChanged: true } } });
	mcp.server.setRequestHandler('resources/list', (request) => {
		const start = Number(request.params?.cursor ?? 0);
		const next = start + pageSize;
		return { resources: files.slice(start, next).map(listed), ...(next < files.length && { nextCursor: String(next) }) };
	});
	mcp.server.setRequestHandler('resources/read', async (request) => {
		const uri = request.params.uri;
		const content = await readFile(join(dir, uri.slice(base.length)));
		const mimeType = types[extname(uri)] ?? 'application/octet-stream';
		return { contents: [isUtf8(content)
			? { uri, mimeType, text: content.toString() }
			: { uri, mimeType, blob: content.toString('base64') }] };
	});
	return mcp;
}

if (addr === undefined) {
	serveStdio(newServer, { maxSubscriptions: 100000 });
} else {
	const handler = createMcpHandler(newServer, { maxSubscriptions: 100000 });
	watch(dir, (kind, name) => {
		if (kind === 'change') handler.notify.resourceUpdated(base + name);
	});
	const [host, port] = addr.split(':');
	const server = createServer(toNodeHandler(handler));
	server.listen(Number(port), host, () => {
		console.error(`listening url=http://${host}:${server.address().port}/mcp`);
	});
}
process.on('SIGTERM', () => process.exit(0));
