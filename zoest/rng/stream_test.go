package rng

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func at(round uint32) *Stream {
	s := New(1, Address{Purpose: Generate, Round: round})
	return &s
}

func words(s Stream, n int) []uint32 {
	w := make([]uint32, n)
	for i := range w {
		w[i] = s.Uint32()
	}
	return w
}

// TestStreamIsPhiloxInCounterMode checks that a stream consists of successive Philox blocks under the key of its
// address, in which every bit of the address counts.
func TestStreamIsPhiloxInCounterMode(t *testing.T) {
	const seed = 0x1122334455667788
	a := Address{Purpose: Step, Client: 1<<31 + 7, Round: 1<<31 + 11, Step: 1<<31 + 13, Component: 1<<31 + 17}
	k := block([4]uint32{uint32(a.Purpose), a.Client, 0x53504144, 0}, [2]uint32{0x55667788, 0x11223344})
	var want []uint32
	for i := range uint32(100) {
		b := block([4]uint32{i, a.Component, a.Step, a.Round}, [2]uint32{k[0], k[1]})
		want = append(want, b[:]...)
	}
	if got := words(New(seed, a), 400); !slices.Equal(got, want) {
		t.Error("the words are not the blocks 0, 1, 2, ... under the address's key")
	}
}

// TestPurposes checks that every purpose has its own family of streams and that its number never changes, because the
// number affects every transcript.
func TestPurposes(t *testing.T) {
	seen := map[[2]uint32]Purpose{}
	for i, p := range []Purpose{Table, Step, Batch, Noise, Graph, Split, Partition, Generate, Spectrum, Fault, Start, Walsh, Adapter} {
		if int(p) != i+1 {
			t.Errorf("purpose %d has the value %d", i+1, p)
		}
		s := New(5, Address{Purpose: p})
		if q, taken := seen[s.key]; taken {
			t.Errorf("purposes %d and %d have the same key", p, q)
		}
		seen[s.key] = p
	}
}

// TestReadIsWordsLittleEndian checks that Read returns the bytes of each word, least significant byte first, and
// consumes the final word completely even if it needs only some of its bytes.
func TestReadIsWordsLittleEndian(t *testing.T) {
	var want []byte
	for _, w := range words(*at(3), 10) {
		want = binary.LittleEndian.AppendUint32(want, w)
	}
	for n := range 38 {
		s := at(3)
		got := make([]byte, n)
		if k, err := s.Read(got); k != n || err != nil {
			t.Fatalf("Read of %d bytes returned %d, %v", n, k, err)
		}
		if !bytes.Equal(got, want[:n]) {
			t.Errorf("%d bytes are % x, want % x", n, got, want[:n])
		}
		used := (n + 3) / 4
		if got, want := s.Uint32(), words(*at(3), used+1)[used]; got != want {
			t.Errorf("after %d bytes comes the word %08x, want word %d, %08x", n, got, used, want)
		}
	}
}

func TestStreamAllocatesNothing(t *testing.T) {
	p := make([]byte, 37)
	var sum float64
	if got := testing.AllocsPerRun(20, func() {
		s := New(1, Address{Purpose: Table})
		sum += s.Normal() + s.Gamma(0.3) + s.Float64() + float64(s.IntN(10))
		s.Read(p)
		s.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
	}); got != 0 {
		t.Errorf("a stream makes %v allocations (sum %v)", got, sum)
	}
}

// TestStreamGolden checks that the first words at some addresses, and the first draws of each kind at one address, are
// the same on every processor.
func TestStreamGolden(t *testing.T) {
	const most = 1<<32 - 1
	for _, c := range []struct {
		seed uint64
		a    Address
		want string
	}{
		{0, Address{}, "b18f6606 4021c0a9 5ff8b92d 8052da96 6680d8bf"},
		{1, Address{Purpose: Table}, "7b57af2c c090b6db 182576b3 f55568c7 0b2f7eb0"},
		{1, Address{Purpose: Table, Component: 1}, "f5d3855a 55dc0350 dd22dcc9 98499829 c0dfc096"},
		{42, Address{Purpose: Step, Client: 3, Round: 10, Step: 2, Component: 99},
			"8afca141 1dc6f366 e87daefd bb155ff4 c1dea01b"},
		{0x123456789abcdef0, Address{Purpose: Batch, Client: most, Round: most, Step: most, Component: most},
			"e4f3eb08 6e763a91 f569fa5a 55ba5a97 7c6208d7"},
	} {
		if got := fmt.Sprintf("%08x", words(New(c.seed, c.a), 5)); got != "["+c.want+"]" {
			t.Errorf("seed %d, %+v: words %s, want %s", c.seed, c.a, got, c.want)
		}
	}

	s := New(7, Address{Purpose: Generate})
	got := []string{fmt.Sprintf("%016x", s.Uint64()), fmt.Sprint(s.IntN(1000)), fmt.Sprint(s.IntN(1000)),
		fmt.Sprintf("%x", s.Float64())}
	for range 3 {
		got = append(got, fmt.Sprintf("%x", s.Normal()))
	}
	for _, shape := range []float64{0.2, 1, 7.5} {
		got = append(got, fmt.Sprintf("%x", s.Gamma(shape)))
	}
	order := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	s.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	got = append(got, fmt.Sprint(order))
	want := []string{
		"c6935a985779f076", "427", "589", // Uint64, IntN(1000) twice
		"0x1.6bf52b2e27e6p-06",                                                      // Float64
		"0x1.e0a1459a6fa39p-04", "-0x1.cc038fe3e97f9p-04", "-0x1.0cc09c806d61bp+00", // Normal
		"0x1.39fb13fc7ae42p-20", "0x1.899d691fc58a2p+00", "0x1.9e1c7c5997eb6p+03", // Gamma
		"[9 7 3 5 1 8 2 4 0 6]", // Shuffle
	}
	if !slices.Equal(got, want) {
		t.Errorf("draws are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDrawsGoldenHash checks that draws that use floating-point arithmetic are the same on every processor. It compares
// a hash of many draws, because a missing rounding changes only some of them.
func TestDrawsGoldenHash(t *testing.T) {
	s := New(8, Address{Purpose: Generate})
	hash := sha256.New()
	for i := range 10000 {
		for _, x := range []float64{s.Normal(), s.Gamma(0.1 + float64(i%64)/16)} {
			hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
		}
	}
	const want = "cefa4f404da4b5dfef37ac804bc977b3902d3c561a22225466fa3a14e7881ad2"
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

// TestFill checks that Fill returns the same words as Uint64, at any position of the stream and for any length.
func TestFill(t *testing.T) {
	a := Address{Purpose: Step, Client: 3, Round: 1<<32 - 1, Step: 9, Component: 4}
	for before := range 6 {
		for n := range 40 {
			s, ref := New(5, a), New(5, a)
			for range before {
				s.Uint32()
				ref.Uint32()
			}
			got := make([]uint64, n)
			s.Fill(got)
			for i, w := range got {
				if want := ref.Uint64(); w != want {
					t.Fatalf("after %d words, word %d of %d is %x, want %x", before, i, n, w, want)
				}
			}
			if s.Uint64() != ref.Uint64() {
				t.Fatalf("after %d words and a Fill of %d the streams stand at different places", before, n)
			}
		}
	}
}
