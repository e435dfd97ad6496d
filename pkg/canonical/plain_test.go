package canonical

import (
	"math/rand/v2"
	"testing"
)

// Looking at eight bytes at a time finds what looking at each finds.
func TestPlainRun(t *testing.T) {
	slow := func(src []byte, pos int) int {
		for pos < len(src) && src[pos] >= 0x20 && src[pos] < 0x80 && src[pos] != '"' && src[pos] != '\\' {
			pos++
		}
		return pos
	}
	for first := range 256 { // each byte at each place of a word, before each that ends a run
		for place := range 8 {
			for _, end := range []byte{0, 0x1f, '"', '\\', 0x80, 0xff, 'x'} {
				src := []byte("abcdefghijklmnop")
				src[place], src[place+1] = byte(first), end
				if got, want := plainRun(src, 0), slow(src, 0); got != want {
					t.Fatalf("plainRun(%q) = %d, want %d", src, got, want)
				}
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		src := make([]byte, random.IntN(40))
		for i := range src {
			src[i] = byte(0x1e + random.IntN(0x64))
		}
		pos := random.IntN(len(src) + 1)
		if got, want := plainRun(src, pos), slow(src, pos); got != want {
			t.Fatalf("plainRun(%q, %d) = %d, want %d", src, pos, got, want)
		}
	}
}
