package transport

import (
	"github.com/mcp-fsserve/mcp-fsserve/internal/jsonrpc"
	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// metaOf returns the request's _meta, zero if there is none.
func metaOf(p params) (params, error) {
	return p.object("_meta", "_meta")
}

// isModern reports whether _meta carries any of what only modern requests carry.
func isModern(meta params) bool {
	for _, key := range [...]string{mcp.MetaProtocolVersion, mcp.MetaClientCapabilities, mcp.MetaClientInfo} {
		if meta.Has(key) {
			return true
		}
	}
	return false
}

// checkMeta checks the shape of a modern request's _meta and returns the version it names: "A request missing any
// required field is malformed; the server MUST reject it with JSON-RPC error code -32602" (basic/index, "_meta").
func checkMeta(meta params) (version string, err error) {
	if !meta.Given() {
		return "", invalid("_meta is missing: send %s and %s in it with every request, or open a session of %s or earlier with initialize",
			mcp.MetaProtocolVersion, mcp.MetaClientCapabilities, mcp.Legacy20251125)
	}
	version, ok, err := meta.text(mcp.MetaProtocolVersion, "_meta."+mcp.MetaProtocolVersion)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", invalid("_meta.%s is missing: it names the revision of the request, such as %q", mcp.MetaProtocolVersion, mcp.Modern)
	}
	switch capabilities := meta.Get(mcp.MetaClientCapabilities); {
	case capabilities == nil:
		return "", invalid("_meta.%s is missing: send {} if the client has none", mcp.MetaClientCapabilities)
	case capabilities[0] != '{':
		return "", invalid("_meta.%s must be an object", mcp.MetaClientCapabilities)
	}
	return version, checkImplementation(meta, mcp.MetaClientInfo, "_meta."+mcp.MetaClientInfo)
}

// checkImplementation checks an optional name and version of a client.
func checkImplementation(p params, name, where string) error {
	info, err := p.object(name, where)
	if err != nil {
		return err
	}
	for _, field := range [...]string{"name", "version"} {
		if raw := info.Get(field); raw != nil && raw[0] != '"' {
			return invalid("%s.%s must be a string", where, field)
		}
	}
	return nil
}

// checkVersion refuses every version but the modern one: the server "MUST respond with an
// UnsupportedProtocolVersionError listing the versions it does support" (basic/versioning). That includes the legacy
// versions, which are spoken after initialize.
func checkVersion(version string) error {
	if version == mcp.Modern {
		return nil
	}
	return errUnsupportedVersion(version)
}

func errUnsupportedVersion(version string) *jsonrpc.Error {
	e := jsonrpc.Errorf(mcp.UnsupportedProtocolVersion, "unsupported protocol version: send %s in _meta, or an earlier one in initialize", mcp.Modern)
	e.Data = versionData{Supported: mcp.SupportedVersions(), Requested: jsonrpc.Clip(version)}
	return e
}

type versionData struct {
	Supported []string `json:"supported"`
	Requested string   `json:"requested"`
}
