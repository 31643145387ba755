package cbor

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The examples of RFC 8949, appendix A, each as the value of a field. What our profile reads has the value of the
// example. What it does not read is refused: as a whole where it is not of the profile, or by every reader of a field.
func TestVectorsOfTheRFC(t *testing.T) {
	text, err := os.ReadFile("../../../../shared/vectors/cbor_appendix_a.json")
	if err != nil {
		t.Skip("no vectors in ../shared/vectors beside the project")
	}
	var vectors []struct {
		Hex        string
		Decoded    json.RawMessage
		Diagnostic string
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	// what is refused before a field is read, by how it begins, and why
	refused := map[string]string{
		"c249": "bignum", "c349": "bignum", "f818": "invalid simple value 24", "9819": "exceeded max number of elements",
		"5f": "indefinite-length", "7f": "indefinite-length", "9f": "indefinite-length", "bf": "indefinite-length",
		"83018202039f": "indefinite-length", "83019f": "indefinite-length", "826161bf": "indefinite-length",
	}
	count := map[string]int{}
	for _, v := range vectors {
		item, err := hex.DecodeString(v.Hex)
		if err != nil {
			t.Fatal(err)
		}
		fields := make([]Item, 2)
		err = Unmarshal(append([]byte{majorMap<<5 | 1, 1}, item...), fields, []string{1: "x"})
		why := ""
		for begin, w := range refused {
			if strings.HasPrefix(v.Hex, begin) {
				why = w
			}
		}
		if why != "" {
			count["refused"]++
			if err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: error %v, want one with %q", v.Hex, err, why)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", v.Hex, err)
			continue
		}
		x, decoded := fields[1], string(v.Decoded)
		uint, notUint := x.Uint("x", 0, math.MaxUint64)
		said, notText := x.Text("x")
		bytes, notBytes := x.Bytes("x")
		switch major := item[0] >> 5; {
		case major == majorUint:
			count["uint"]++
			if want, err := strconv.ParseUint(decoded, 10, 64); err != nil || notUint != nil || uint != want {
				t.Errorf("%s: the integer %d, %v, want %s", v.Hex, uint, notUint, decoded)
			}
		case major == majorBytes:
			count["bytes"]++
			if want := strings.Trim(v.Diagnostic, "h'"); notBytes != nil || hex.EncodeToString(bytes) != want {
				t.Errorf("%s: the bytes %x, %v, want %s", v.Hex, bytes, notBytes, want)
			}
		case major == majorText:
			count["text"]++
			var want string
			if err := json.Unmarshal(v.Decoded, &want); err != nil || notText != nil || said != want {
				t.Errorf("%s: the text %q, %v, want %s", v.Hex, said, notText, decoded)
			}
		default: // other numbers, tags, arrays, maps, and simple values: no field is a single one of these
			count["unread"]++
			if notUint == nil || notText == nil || notBytes == nil {
				t.Errorf("%s is read as a field: %d, %q, %x", v.Hex, uint, said, bytes)
			}
		}
		if want := decoded == "true"; x.True() != want {
			t.Errorf("%s: true is %t", v.Hex, !want)
		}
	}
	t.Logf("%d examples: %v", len(vectors), count)
	if count["uint"] < 10 || count["text"] < 7 || count["refused"] < 14 || count["unread"] < 18 {
		t.Errorf("of %d examples %v were tried", len(vectors), count)
	}
}
