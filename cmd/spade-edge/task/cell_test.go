package task

import (
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/task/cell"
)

// TestClean checks which texts are the same name.
func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		" a b\u00a0": "a b", "\ufeffname": "name", "ye\u200bs": "yes", "\u2060": "", "soft\u00adhyphen": "softhyphen",
		"gro\u0308\u00dfe":     "gr\u00f6\u00dfe",
		"e\u0302\u0323":        "\u1ec7", // the marks in either order, and half composed
		"e\u0323\u0302":        "\u1ec7",
		"\u00ea\u0323":         "\u1ec7",
		"\u1eb9\u0302":         "\u1ec7",
		"\u0438\u0306":         "\u0439", // Cyrillic
		"\u03b1\u0313\u0301":   "\u1f04", // Greek
		"\u1f71":               "\u03ac",
		"\u03b1\u0345\u0301":   "\u1fb4",
		"x\u030c":              "x\u030c", // there is no such letter
		"a\u0301\u0301":        "\u00e1\u0301",
		"\u0301a":              "\u0301a",
		"a\u0335\u0301":        "a\u0335\u0301",
		"gr\xf6\xdfe \u200b":   "gr\xf6\xdfe \u200b", // not UTF-8
		"\u65e5\u672c":         "\u65e5\u672c",
		"\u0627\u200f\u0628":   "\u0627\u0628",
		"A\u030a\u0301 \u212b": "\u01fa \u212b",
	} {
		if got := cell.Clean(text); got != want {
			t.Errorf("%+q is %+q, want %+q", text, got, want)
		} else if again := cell.Clean(got); again != got {
			t.Errorf("%+q is not stable: %+q", got, again)
		}
	}
	if got := cell.Apart("x\u030c"); got != "U+030C" || cell.Apart("\u00e9") != "" {
		t.Errorf("the mark is %s", got)
	}
}

// TestDecimal checks which texts are the same number.
func TestDecimal(t *testing.T) {
	for _, same := range [][]string{
		{"1", "1.0", "+1", "01", "1.", "1,0", "1.00e0", "0.1e1", "10e-1"}, {"0", "0.0", "-0", "00", "0e5", ".0"}, {"-2.50", "-2,5", "-25e-1"},
		{"100", "1e2", "100.0"}, {"0.001", ".001", "1e-3"}, {"20240103", "20240103.0"}, {"12345678901234567890", "12345678901234567890.0"},
	} {
		for _, text := range same {
			a, ok := cell.Decimal(same[0])
			if b, ok2 := cell.Decimal(text); !ok || !ok2 || a != b {
				t.Errorf("%s is %q %v, %s is %q %v", same[0], a, ok, text, b, ok2)
			}
		}
	}
	seen := map[string]string{}
	for _, text := range []string{"1", "10", "11", "0.1", "-1", "1.01", "12345678901234567890", "12345678901234567891", "16777216", "16777217"} {
		d, _ := cell.Decimal(text)
		if other, twice := seen[d]; twice {
			t.Errorf("%s and %s are both %s", text, other, d)
		}
		seen[d] = text
	}
	for _, text := range []string{"", "x", "1_0", "0x10", "inf", "nan", "1,234", "1.234.567", "1e400", "0x1p-2", "1 000", "--1", "1e", "1e-99999999999999999999"} {
		if d, ok := cell.Decimal(text); ok {
			t.Errorf("%s is the number %s", text, d)
		}
	}
}

// TestNumber checks what is wrong with cells that are not numbers, and that the others keep their digits.
func TestNumber(t *testing.T) {
	for text, want := range map[string]string{
		"1e39": cell.TooLarge, "-3.5e38": cell.TooLarge, "1e999": cell.TooLarge, "1_000": "has thousands", "1_0": cell.NoNumber, "0x1p-2": cell.NoNumber, "Inf": cell.NoNumber, "NaN": cell.Missing,
		"2024-01-03": cell.NoTime, "1,234,567": "has thousands", "abc": cell.NoNumber, "": cell.Missing, "e": cell.NoNumber, "3.4e38": "",
	} {
		if _, fault := cell.Number(text); !strings.HasPrefix(fault, want) || want == "" && fault != "" {
			t.Errorf("%q: %s, want %s", text, fault, want)
		}
	}
	if f, _ := cell.Number("1700000000001"); f != 1700000000001 {
		t.Errorf("read %v", f)
	}
}

// TestOneName checks which declared category a cell has: the one with its text, or else the only one that is the same
// number or differs in case alone.
func TestOneName(t *testing.T) {
	for _, c := range []struct {
		known, cell string
		want        int
	}{
		{"0 1", "0.0", 0}, {"0 1", "1,0", 1}, {"0 1", "+1", 1}, {"0 1", "01", 1}, {"0 1", "2", -1}, {"0 1", "", -1}, {"0.0 1.0", "0", 0}, {"0 1", "0x1", -1},
		{"0 1", "1e0", 1}, {"1 1.0", "1.0", 1}, {"1 1.0", "1.00", -1}, {"01 02 10", "1", -1}, {"01 02 10", "10.0", 2}, {"01 02 10", "01", 0},
		{"0 00 1", "0.0", -1}, {"0 00 1", "1.0", 2}, {"No yes", "NO", 0}, {"No NO", "no", -1}, {"No NO", "NO", 1}, {"1.10 1.2", "1.1", 0},
		{"12345678901234567890 12345678901234567891", "12345678901234567891.0", 1}, {"16777216 16777217", "16777217.0", 1},
		{"1,234 1234", "1234.0", 1}, {"J\u00e4 no", "ja\u0308", 0}, {"Ja\u0308 no", "j\u00e4", 0},
	} {
		if n, _ := cell.NewNames(strings.Fields(c.known), true).Find(cell.Clean(c.cell)); n != c.want {
			t.Errorf("%q of %q is %d, want %d", c.cell, c.known, n, c.want)
		}
	}
	names := cell.NewNames([]string{"no", "yes"}, true)
	for text, want := range map[string]string{"yes.": `it nearly equals "yes"`, "x\u030c": "it has the combining mark U+030C", "k\xf6": "not in UTF-8"} {
		if hint := names.Hint(text); !strings.Contains(hint, want) {
			t.Errorf("%q: %s, want %s", text, hint, want)
		}
	}
}

func TestSort(t *testing.T) {
	for _, c := range [][2]string{
		{"10 9 2.5 -1 1e3", "-1 2.5 9 10 1e3"},
		{"1.0 1 0", "0 1 1.0"},
		{"10 9 x", "10 9 x"},
		{"inf 2 10", "10 2 inf"},
		{"NaN 2 10", "10 2 NaN"},
	} {
		got := strings.Fields(c[0])
		cell.Sort(got)
		if strings.Join(got, " ") != c[1] {
			t.Errorf("sorted %q, want %q", got, c[1])
		}
	}
}
