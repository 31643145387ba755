package zoest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest/rng"
)

// recordKinds returns one configuration with Records for each combination of a kind and a distribution.
func recordKinds(d, m int) (list []Config) {
	for kind := Paper; kind <= Tracking; kind++ {
		for _, directions := range []Distribution{Rademacher, Walsh} {
			list = append(list, Config{Dim: d, Samples: m, Kind: kind, Directions: directions, Records: true, Window: 5, Seed: 3,
				Client: 2})
		}
	}
	return list
}

func recordName(cfg Config) string { return fmt.Sprintf("%v %v", cfg.Kind, cfg.Directions) }

// askRound performs a round with tau queries for each record at x.
func askRound(t testing.TB, e *Estimator, round, tau int, x []float32, mu float64, loss func(x []float32, h int) float64) {
	t.Helper()
	e.Fill(round, x, mu)
	for range tau {
		e.Step(x)
		drive(t, e, func(q Query) float64 { return loss(q.Point, q.Sample) })
	}
}

func bentLoss(x []float32, h int) float64 {
	sum := 0.3 * float64(h)
	for i, v := range x {
		sum += float64(float64(v) * math.Sin(float64(3*h+i)))
	}
	return 1 / (1 + math.Exp(-sum))
}

// TestRecordsStayApart replaces the answers of one record over several rounds. It checks that the rows, memory and
// queries of all other records remain bit-identical.
func TestRecordsStayApart(t *testing.T) {
	const d, m, tau, replaced = 7, 12, 5, 4
	for _, cfg := range recordKinds(d, m) {
		t.Run(recordName(cfg), func(t *testing.T) {
			one, other := newTest(t, cfg), newTest(t, cfg)
			for round := range 6 {
				x := make([]float32, d)
				for i := range x {
					x[i] = float32(round*i) * 0.1
				}
				var asked, too [][]float32
				askRound(t, one, round, tau, x, 0.4, func(x []float32, h int) float64 {
					asked = append(asked, slices.Clone(x))
					return bentLoss(x, h)
				})
				askRound(t, other, round, tau, x, 0.4, func(x []float32, h int) float64 {
					too = append(too, slices.Clone(x))
					if h == replaced {
						return []float64{1e30, -1e30, 0, 1e30, 7}[len(too)%5]
					}
					return bentLoss(x, h)
				})
				if !slices.EqualFunc(asked, too, slices.Equal) {
					t.Fatal("the queries depend on losses")
				}
				a, factor := one.Rows()
				b, same := other.Rows()
				if factor != same {
					t.Fatalf("the factor is %v and %v", factor, same)
				}
				for h := range m {
					equal := slices.Equal(a[h*d:(h+1)*d], b[h*d:(h+1)*d])
					if h != replaced && !equal {
						t.Fatalf("round %d: record %d moves the row of record %d", round, replaced, h)
					}
					if h == replaced && equal {
						t.Fatal("the record that was replaced has the same row: the test has no power")
					}
				}
				checkApart(t, cfg, one.Memory(), other.Memory(), replaced)
			}
		})
	}
}

// checkApart checks that a and b contain the same memory for all records except the replaced one, and that all numbers
// in b are finite.
func checkApart(t *testing.T, cfg Config, a, b []float32, replaced int) {
	t.Helper()
	if len(a) != cfg.Memory() {
		t.Fatalf("the memory has %d numbers, want %d", len(a), cfg.Memory())
	}
	for i := range a {
		h := i / cfg.Dim
		if rows := cfg.Samples * cfg.Dim; i >= rows {
			h = (i - rows) % cfg.Samples
		}
		if h != replaced && a[i] != b[i] {
			t.Fatalf("number %d of the memory, of record %d, depends on record %d", i, h, replaced)
		}
		if !(abs(b[i]) <= math.MaxFloat32) {
			t.Fatalf("number %d of the memory is %v", i, b[i])
		}
	}
}

// TestRecordRowsEstimate checks that, for linear losses, the paper's rows have the mean mu*slope,
// and that the tracking rows converge to mu*slope.
func TestRecordRowsEstimate(t *testing.T) {
	const d, m, mu, rounds = 5, 3, 0.2, 4000
	x := []float32{0.5, -1, 0.25, 0, 2}
	slope := func(h, i int) float64 { return math.Cos(float64(5*h + i)) }
	linear := func(x []float32, h int) float64 {
		sum := 0.5
		for i, v := range x {
			sum += slope(h, i) * float64(v)
		}
		return sum
	}
	for _, cfg := range recordKinds(d, m) {
		t.Run(recordName(cfg), func(t *testing.T) {
			e := newTest(t, cfg)
			mean := make([]float64, m*d)
			square := make([]float64, m*d)
			for round := range rounds {
				askRound(t, e, round, 3, x, mu, linear)
				rows, factor := e.Rows()
				for i, v := range rows {
					mean[i] += float64(v) * factor / rounds
					square[i] += float64(v) * factor * float64(v) * factor / rounds
				}
			}
			rows, factor := e.Rows()
			for i := range mean {
				want := mu * slope(i/d, i%d)
				off, most := mean[i]-want, 5*math.Sqrt(square[i]/rounds) // five standard errors
				if cfg.Kind == Tracking {
					off, most = float64(rows[i])*factor-want, 1e-5
				}
				if math.Abs(off) > most {
					t.Errorf("row %d, coordinate %d: off by %v, want at most %v", i/d, i%d, off, most)
				}
			}
		})
	}
}

// TestRecordDirectionsCover checks that in n queries of a round the Walsh directions of a record include each of the n
// rows of the Hadamard matrix once.
func TestRecordDirectionsCover(t *testing.T) {
	const d, m, n = 13, 37, 16
	cfg := Config{Dim: d, Samples: m, Directions: Walsh, Records: true, Seed: 9}
	w := newRecordWalsh(cfg, m)
	w.begin(stage{round: 3, filling: true})
	numbers, seen := make([]uint32, m), make([]map[uint32]int, m)
	plus := 0
	for step := range 3 * n {
		w.begin(stage{round: 3, step: uint32(step)})
		w.numbers(numbers, 0)
		for h, number := range numbers {
			if step%n == 0 {
				seen[h] = map[uint32]int{}
			}
			seen[h][number%n]++
			plus += int(number / n)
			if step%n == n-1 && len(seen[h]) != n {
				t.Fatalf("record %d: %d rows in %d queries", h, len(seen[h]), n)
			}
		}
	}
	if all := 3 * n * m; math.Abs(float64(plus)-float64(all)/2) > 5*math.Sqrt(float64(all))/2 {
		t.Errorf("%d of %d signs are set", plus, all)
	}
}

// TestRecordsRestart checks that the memory of a record restarts from zero if its numbers have grown too large, and
// that all memory survives a restart of the process bit for bit.
func TestRecordsRestart(t *testing.T) {
	const d, m = 4, 6
	for _, cfg := range recordKinds(d, m) {
		e, again := newTest(t, cfg), newTest(t, cfg)
		for round := range 8 {
			x := []float32{float32(round), 1, 0, -1}
			loss := func(x []float32, h int) float64 {
				if h == 2 && round == 1 {
					return 1e30
				}
				return bentLoss(x, h)
			}
			if round == 5 {
				copy(again.Memory(), e.Memory())
			}
			askRound(t, e, round, 3, x, 1e-6, loss)
			if round < 5 {
				continue
			}
			askRound(t, again, round, 3, x, 1e-6, loss)
			a, _ := e.Rows()
			b, _ := again.Rows()
			if !slices.Equal(a, b) || !slices.Equal(e.Memory(), again.Memory()) {
				t.Fatalf("%v: round %d differs after a restart", recordName(cfg), round)
			}
			if row := a[2*d : 3*d]; slices.ContainsFunc(row, func(x float32) bool { return !(abs(x) < 1e9) }) {
				t.Fatalf("%v: row %v has not restarted", recordName(cfg), row)
			}
		}
	}
}

// TestRecordsGolden checks that after three rounds the rows of each configuration are the same on every processor.
func TestRecordsGolden(t *testing.T) {
	for _, cfg := range recordKinds(9, 5) {
		e := newTest(t, cfg)
		s := rng.New(5, rng.Address{Purpose: rng.Generate})
		for round := range 3 {
			x := make([]float32, 9)
			for i := range x {
				x[i] = float32(s.Normal())
			}
			askRound(t, e, round, 7, x, 0.3, func(x []float32, h int) float64 {
				var sum float32
				for i, v := range x {
					sum += float32(v * float32(int32(i+h)%5-2))
				}
				return float64(sum)
			})
		}
		rows, _ := e.Rows()
		if got, want := digestOf(rows), recordsGolden[recordName(cfg)]; got != want {
			t.Errorf("%q: %q,", recordName(cfg), got)
		}
	}
}

var recordsGolden = map[string]string{
	"paper rademacher": "bff7b2b44dd213a4", "paper walsh": "626a54fd1c3f9d6f",
	"tracking rademacher": "13acffc1a27bf72f", "tracking walsh": "6353dce4e9571118",
}

// digestOf returns the first bytes of the SHA-256 hash of the numbers.
func digestOf(x []float32) string {
	hash := sha256.New()
	for _, v := range x {
		_ = binary.Write(hash, binary.LittleEndian, v)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:8])
}
