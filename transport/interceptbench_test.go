package transport

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"testing"
)

// BenchmarkIntercepted is a round trip to a library that answers each line, over pipes of the system: with an interceptor
// between the two and without.
func BenchmarkIntercepted(b *testing.B) {
	call := []byte(read("1", a) + "\n")
	for _, kind := range []struct {
		name string
		wrap func(in io.Reader, out io.Writer) (io.Reader, io.Writer, func())
	}{
		{"without", func(in io.Reader, out io.Writer) (io.Reader, io.Writer, func()) { return in, out, func() {} }},
		{"with", func(in io.Reader, out io.Writer) (io.Reader, io.Writer, func()) {
			i, _ := interceptorOf(top{})
			x := i.Stdio(in, out)
			return x.Reader(), x.Writer(), func() { x.Close() }
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			in, send, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			receive, out, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			r, w, end := kind.wrap(in, out)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for lines := bufio.NewReader(r); ; {
					line, err := lines.ReadSlice('\n')
					if err != nil {
						return
					}
					var m struct{ ID json.RawMessage }
					_ = json.Unmarshal(line, &m)
					_, _ = io.WriteString(w, answered1(string(m.ID))+"\n")
				}
			}()
			answers := bufio.NewReader(receive)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = send.Write(call)
				if _, err := answers.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
			send.Close()
			<-done
			end()
			for _, f := range []*os.File{in, out, receive} {
				f.Close()
			}
		})
	}
}

// BenchmarkPassLarge is what a large answer of the library costs besides its write.
func BenchmarkPassLarge(b *testing.B) {
	i, _ := interceptorOf(top{})
	x := i.Stdio(nil, io.Discard)
	defer x.Close()
	line := []byte(`{"jsonrpc":"2.0","id":1,"result":{"contents":[{"text":"` + string(letters(1<<20)) + `"}]}}` + "\n")
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = x.Writer().Write(line)
	}
}

func letters(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = 'a' + byte(i%26)
	}
	return p
}
