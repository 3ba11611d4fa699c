package resources

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/mcp-fsserve/mcp-fsserve/internal/mcp"
)

// A cursor is the path of the last entry that its page handed out, with a checksum over that and the root's base: opaque,
// and of no use to anybody who did not get it from a page of this catalogue. It names a position in the order and not an
// offset, so it stays good whatever appears or goes, the entry itself included.
const cursorVersion = 1

func encodeCursor(prefix, rel string) string {
	raw := make([]byte, 5, 5+len(rel))
	raw[0] = cursorVersion
	binary.BigEndian.PutUint32(raw[1:], cursorSum(prefix, rel))
	return base64.RawURLEncoding.EncodeToString(append(raw, rel...))
}

// decodeCursor returns the root that the cursor stands in, by its prefix among those given, and the path.
func decodeCursor(cursor string, prefixes []string) (root int, rel string, err error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || strings.ContainsAny(cursor, "\r\n") || // which encoding/base64 skips
		len(raw) < 6 || raw[0] != cursorVersion {
		return 0, "", mcp.ErrBadCursor
	}
	sum := binary.BigEndian.Uint32(raw[1:])
	rel = string(raw[5:])
	for i, prefix := range prefixes {
		if sum == cursorSum(prefix, rel) && plainPath(rel) {
			return i, rel, nil
		}
	}
	return 0, "", mcp.ErrBadCursor
}

func cursorSum(prefix, rel string) uint32 {
	sum := crc32.ChecksumIEEE([]byte(prefix))
	sum = crc32.Update(sum, crc32.IEEETable, []byte{0})
	return crc32.Update(sum, crc32.IEEETable, []byte(rel))
}
