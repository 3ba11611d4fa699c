package resources

import (
	"bytes"
	"testing"
)

// A block whose content is another one has another sum, wherever the difference is.
func TestSumsTellContentsApart(t *testing.T) {
	for _, size := range []int{1, 1 << 10, 3<<10 + 1, bodyBlock} {
		block := bytes.Repeat([]byte("a line\n"), size/7+1)[:size]
		was := sum(block)
		for at := 0; at < size; at += max(1, min(127, size-1-at)) {
			block[at] ^= 1
			if sum(block) == was {
				t.Errorf("byte %d of %d changes, and its sum does not", at, size)
			}
			block[at] ^= 1
		}
		if sum(block) != was {
			t.Errorf("the same %d bytes have two sums", size)
		}
		if sum(block[:size-1]) == was {
			t.Errorf("one byte less than %d makes no difference", size)
		}
	}
	const part = 1 << 10
	first, second := bytes.Repeat([]byte("1"), part), bytes.Repeat([]byte("2"), part)
	if sum(append(first[:part:part], second...)) == sum(append(second[:part:part], first...)) {
		t.Error("parts that trade places make no difference")
	}
}

func BenchmarkSum(b *testing.B) {
	block := bytes.Repeat([]byte("a line\n"), bodyBlock/7+1)[:bodyBlock]
	b.SetBytes(bodyBlock)
	b.ReportAllocs()
	for b.Loop() {
		sum(block)
	}
}
