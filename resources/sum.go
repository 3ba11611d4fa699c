package resources

import "hash/maphash"

var seed = maphash.MakeSeed()

// sum tells one content of a block from another, also to those who would have them look the same: the seed is of this process.
// It goes by arrays, since [maphash.Bytes] takes 128 bytes at a time, and half as long again for all.
func sum(block []byte) uint64 {
	const part = 1 << 10
	const odd = 0x9e3779b97f4a7c15 // parts that trade places make another sum
	var h uint64
	for ; len(block) >= part; block = block[part:] {
		h = h*odd + maphash.Comparable(seed, [part]byte(block))
	}
	return h*odd + maphash.Bytes(seed, block)
}
