package task

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func idxFile(magic uint32, shape []uint32, elements ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, magic)
	for _, s := range shape {
		b = binary.BigEndian.AppendUint32(b, s)
	}
	return append(b, elements...)
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func folder(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if sub := filepath.Dir(name); sub != "." {
			if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var (
	threeImages = idxFile(imagesMagic, []uint32{3, 1, 2}, 0, 255, 51, 102, 153, 204)
	threeLabels = idxFile(labelsMagic, []uint32{3}, 7, 6, 7)
)

func TestReadIDXFaults(t *testing.T) {
	zip := gzipped(threeImages)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":         {nil, "ends after 0 of the 16 bytes of an IDX header"},
		"half a header": {threeImages[:9], "ends after 9 of the 16 bytes"},
		"labels": {append(threeLabels, make([]byte, 9)...),
			"starts with 0x00000801, want the magic number 0x00000803"},
		"truncated":    {threeImages[:20], "truncated: holds 4 of the 6 bytes"},
		"too long":     {append(slices.Clone(threeImages), 0), "has data after the 6 bytes"},
		"size 0":       {idxFile(imagesMagic, []uint32{0, 28, 28}), "dimension of size 0, want sizes of at least 1"},
		"2 GB claimed": {idxFile(imagesMagic, []uint32{1 << 31, 1, 1}, 1), "and at most 2147483647 bytes together"},
		"2^96 claimed": {idxFile(imagesMagic, []uint32{1<<32 - 1, 1<<32 - 1, 1<<32 - 1}, 1),
			"and at most 2147483647 bytes together"},
		"1 GB not there": {idxFile(imagesMagic, []uint32{1 << 20, 32, 32}, 1), "truncated: holds 1 of the 1073741824 bytes"},
		"cut gzip":       {zip[:len(zip)-12], "cut off: unexpected EOF, after "},
		"gzip, no end":   {zip[:len(zip)-8], "cut off: unexpected EOF, after 6 of 6 bytes"},
		"gzip, half end": {zip[:len(zip)-1], "cut off: unexpected EOF, after 6 of 6 bytes"},
		"gzip, no data":  {zip[:9], "cut off: unexpected EOF"},
		"gzip checksum":  {append(slices.Clone(zip[:len(zip)-8]), 1, 2, 3, 4, 6, 0, 0, 0), "checksum"},
		"gzip header":    {[]byte{0x1f, 0x8b, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "gzip"},
	} {
		_, _, err := readIDX(c.file, imagesMagic)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestIDXClaimAllocatesNothing(t *testing.T) {
	file := idxFile(imagesMagic, []uint32{1 << 20, 32, 32}, make([]byte, 100)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readIDX(file, imagesMagic)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	if allocated > 1<<16 {
		t.Errorf("%d bytes allocated for a file of %d that claims 1 GB", allocated, len(file))
	}
}

func TestLoadIDX(t *testing.T) {
	images := idxFile(imagesMagic, []uint32{2, 2, 1}, 255, 0, 0, 255)
	labels := idxFile(labelsMagic, []uint32{2}, 6, 9)
	for name, files := range map[string][4]string{
		"MNIST names": {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte"},
		"plain names": {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "test-images-idx3-ubyte.gz", "test-labels-idx1-ubyte"},
		"dots":        {"train-images.idx3-ubyte", "train-labels.idx1-ubyte.gz", "t10k-images.idx3-ubyte.gz", "t10k-labels.idx1-ubyte"},
		"folders": {"train-images-idx3-ubyte/train-images-idx3-ubyte", "train-labels.idx1-ubyte.gz",
			"t10k-images.idx3-ubyte.gz", "t10k-labels.idx1-ubyte/t10k-labels.idx1-ubyte"},
	} {
		dir := folder(t, map[string][]byte{files[0]: threeImages, files[1]: gzipped(threeLabels), files[2]: gzipped(images),
			files[3]: labels, "README": nil})
		set, err := Load(Spec{Source: "idx:" + dir, Labels: []string{"7", "6"}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(set.Train.X, []float32{0, 1, 0.2, 0.4, 0.6, 0.8}) || !slices.Equal(set.Train.Y, []int{0, 1, 0}) {
			t.Errorf("%s: training set %+v", name, set.Train)
		}
		if !slices.Equal(set.Test.X, []float32{1, 0}) || !slices.Equal(set.Test.Y, []int{1}) {
			t.Errorf("%s: test set %+v, want the first image alone: 9 is not among the labels", name, set.Test)
		}
		if set.Spec.TestFraction != 0 || *set.Spec.Standardize || *set.Spec.Bias || set.Fitted != nil {
			t.Errorf("%s: chose %+v, fitted %q", name, set.Spec, set.Fitted)
		}
	}
}

func TestLoadIDXFaults(t *testing.T) {
	train := map[string][]byte{"train-images-idx3-ubyte": threeImages, "train-labels-idx1-ubyte": threeLabels}
	for name, c := range map[string]struct {
		with map[string][]byte
		want []string
	}{
		"nothing": {map[string][]byte{"train-images-idx3-ubyte": nil, "train-labels-idx1-ubyte": nil},
			[]string{"train-images-idx3-ubyte: ends after 0", "train-labels-idx1-ubyte: ends after 0"}},
		"test labels gone": {map[string][]byte{"t10k-images-idx3-ubyte": threeImages},
			[]string{"the folder has no t10k-labels-idx1-ubyte"}},
		"counts": {map[string][]byte{"train-labels-idx1-ubyte": idxFile(labelsMagic, []uint32{2}, 6, 7)},
			[]string{"train-images-idx3-ubyte holds 3 images", "train-labels-idx1-ubyte holds 2 labels"}},
		"two test sets": {map[string][]byte{"t10k-images-idx3-ubyte": nil, "test-images-idx3-ubyte": nil},
			[]string{"both t10k-images", "and test-images"}},
		"two training sets": {map[string][]byte{"images-idx3-ubyte": nil}, []string{"both train-images", "and images"}},
		"test shape": {map[string][]byte{"test-images-idx3-ubyte": idxFile(imagesMagic, []uint32{1, 1, 1}, 0),
			"test-labels-idx1-ubyte": idxFile(labelsMagic, []uint32{1}, 6)},
			[]string{"test-images-idx3-ubyte holds images of 1 pixels", "train-images-idx3-ubyte holds images of 2"}},
		"training label gone": {map[string][]byte{"train-labels-idx1-ubyte": idxFile(labelsMagic, []uint32{3}, 6, 6, 6),
			"test-images-idx3-ubyte": threeImages, "test-labels-idx1-ubyte": threeLabels},
			[]string{`no training sample with the label "7"`}},
		"one label": {map[string][]byte{"train-labels-idx1-ubyte": idxFile(labelsMagic, []uint32{3}, 6, 6, 6)},
			[]string{`has the label "6", want at least two`}},
	} {
		files := make(map[string][]byte)
		for _, m := range []map[string][]byte{train, c.with} {
			for k, v := range m {
				files[k] = v
			}
		}
		_, err := Load(Spec{Source: "idx:" + folder(t, files)})
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want one with %q", name, err, want)
			}
		}
	}
	if _, err := Load(Spec{Source: "idx:" + t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "the folder has no train-images-idx3-ubyte or images-idx3-ubyte") {
		t.Errorf("empty folder: %v", err)
	}
	if _, err := Load(Spec{Source: "idx:/no/such/folder"}); err == nil ||
		!strings.Contains(err.Error(), "/no/such/folder") {
		t.Errorf("no folder: %v", err)
	}
	dir := folder(t, train)
	if _, err := Load(Spec{Source: "idx:" + dir, Labels: []string{"6", "5"}}); err == nil ||
		!strings.Contains(err.Error(), `no row has the label "5", want labels from "6", "7"`) {
		t.Errorf("unknown label: %v", err)
	}
}

func FuzzIDX(f *testing.F) {
	f.Add(threeImages)
	f.Add(gzipped(threeImages))
	f.Add(idxFile(imagesMagic, []uint32{1 << 31, 2, 3}, 4))
	f.Fuzz(func(t *testing.T, file []byte) {
		elements, shape, err := readIDX(file, imagesMagic)
		if err != nil {
			return
		}
		if len(shape) != 3 || shape[0]*shape[1]*shape[2] != len(elements) || len(elements) == 0 {
			t.Errorf("%d elements in the shape %v", len(elements), shape)
		}
	})
}
