package sealed

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"
)

// TestVectorsOfGCM checks the code that encrypts frames against Wycheproof's test vectors for AES-GCM. It uses only
// vectors with 12-byte nonces and 16-byte tags, the lengths that frames use.
func TestVectorsOfGCM(t *testing.T) {
	text, err := os.ReadFile("../../../../../shared/vectors/wycheproof_aes_gcm.json")
	if err != nil {
		t.Skip("no vectors in ../shared/vectors beside the project")
	}
	var file struct {
		TestGroups []struct {
			IVSize, TagSize int
			Tests           []struct {
				TcID                               int
				Key, IV, AAD, Msg, CT, Tag, Result string
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	raw := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	count := map[string]int{}
	for _, g := range file.TestGroups {
		if g.IVSize != 8*len(noNonce) || g.TagSize != 8*tagSize {
			continue
		}
		for _, v := range g.Tests {
			count[v.Result]++
			sealer := gcm(raw(v.Key))
			sealed, valid := append(raw(v.CT), raw(v.Tag)...), v.Result == "valid"
			opened, err := sealer.Open(nil, raw(v.IV), sealed, raw(v.AAD))
			if valid != (err == nil) || valid && !bytes.Equal(opened, raw(v.Msg)) {
				t.Errorf("case %d (%s) opens as %x, %v", v.TcID, v.Result, opened, err)
			}
			if again := sealer.Seal(nil, raw(v.IV), raw(v.Msg), raw(v.AAD)); valid && !bytes.Equal(again, sealed) {
				t.Errorf("case %d seals as %x, want %x", v.TcID, again, sealed)
			}
		}
	}
	if count["valid"] < 80 || count["invalid"] < 30 {
		t.Errorf("cases tried: %v", count)
	}
}
