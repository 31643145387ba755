package main

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

func BenchmarkKernels(b *testing.B) {
	for _, op := range operations {
		for _, n := range sizes {
			d := newData(n)
			for _, c := range op.who {
				b.Run(fmt.Sprintf("%s/%d/%s", op.name, n, c.name), func(b *testing.B) {
					b.SetBytes(int64(op.bytes * n))
					c.run(d, b.N)
				})
			}
		}
	}
}

// TestContendersAgree checks that all contenders of an operation compute the same results, up to rounding. Otherwise it
// would be meaningless to compare their times.
func TestContendersAgree(t *testing.T) {
	for _, op := range operations {
		for _, n := range []int{1, 10, 67, 512, 4099} {
			var want *data
			for _, c := range op.who {
				if strings.HasPrefix(c.name, "(copy") {
					continue
				}
				d := newData(n)
				c.run(d, 1)
				if want == nil {
					want = d
					continue
				}
				if !near(d.sum, want.sum) {
					t.Errorf("%s, n = %d: %s gives %v, %s %v", op.name, n, c.name, d.sum, op.who[0].name, want.sum)
				}
				for j := range 4 { // the last two vectors are scratch
					for i := range n {
						if !near(float64(d.v[j][i]), float64(want.v[j][i])) {
							t.Fatalf("%s, n = %d: %s leaves %v in vector %d at %d, %s %v", op.name, n, c.name, d.v[j][i], j, i,
								op.who[0].name, want.v[j][i])
						}
					}
				}
			}
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-5*(math.Abs(a)+math.Abs(b)) }

// TestTable checks that the table can be printed. It does not check the numbers.
func TestTable(t *testing.T) {
	for _, op := range operations {
		table(op, []int{10, 4096}, 1, time.Microsecond)
	}
}
