package task

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// The two kinds of file of the IDX format of LeCun, Cortes and Burges, "The MNIST database of handwritten digits": a
// magic number (two zero bytes, the element type, the number of dimensions), one big-endian 32-bit size for each
// dimension, then the elements. Both kinds hold unsigned bytes (type 8).
const (
	imagesMagic = 0x00000803
	labelsMagic = 0x00000801
)

// loadIDX reads the IDX files of a folder. test is nil if the folder has no test files.
func loadIDX(dir string) (train, test *table, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("task: -data idx:%s: %w", dir, err)
	}
	f := idxFolder{dir: dir, has: make(map[string]bool)}
	for _, e := range entries {
		f.has[e.Name()] = true
	}
	if train, err = f.load("train-", ""); err != nil {
		return nil, nil, err
	}
	if train == nil {
		return nil, nil, fmt.Errorf("task: -data idx:%s: no train-images-idx3-ubyte or images-idx3-ubyte there, plain or with .gz",
			dir)
	}
	if test, err = f.load("t10k-", "test-"); err != nil {
		return nil, nil, err
	}
	if test != nil && test.dim != train.dim {
		return nil, nil, fmt.Errorf("task: %s holds images of %d pixels, %s of %d", test.name, test.dim, train.name, train.dim)
	}
	return train, test, nil
}

// idxFolder is a folder and the names in it.
type idxFolder struct {
	dir string
	has map[string]bool
}

// path returns the path of a file that may have .gz behind its name, the plain one first, or "" if it is not there.
func (f idxFolder) path(name string) string {
	for _, n := range []string{name, name + ".gz"} {
		if f.has[n] {
			return filepath.Join(f.dir, n)
		}
	}
	return ""
}

// load reads the pair of files that has one of the prefixes. It returns nil if there is none.
func (f idxFolder) load(prefixes ...string) (*table, error) {
	var found []string
	for _, p := range prefixes {
		if f.path(p+"images-idx3-ubyte") != "" || f.path(p+"labels-idx1-ubyte") != "" {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return f.loadPair(found[0])
	}
	return nil, fmt.Errorf("task: -data idx:%s: both %simages-idx3-ubyte and %simages-idx3-ubyte (or their labels), want one",
		f.dir, found[0], found[1])
}

// loadPair reads the images and the labels that belong to them.
func (f idxFolder) loadPair(prefix string) (*table, error) {
	images, shape, imagesName, errImages := f.loadFile(prefix+"images-idx3-ubyte", imagesMagic)
	labels, _, labelsName, errLabels := f.loadFile(prefix+"labels-idx1-ubyte", labelsMagic)
	if err := errors.Join(errImages, errLabels); err != nil {
		return nil, err
	}
	if shape[0] != len(labels) {
		return nil, fmt.Errorf("task: %s holds %d images, %s %d labels", imagesName, shape[0], labelsName, len(labels))
	}
	return idxTable(imagesName, images, shape[1]*shape[2], labels), nil
}

func (f idxFolder) loadFile(name string, magic uint32) (elements []byte, shape []int, path string, err error) {
	if path = f.path(name); path == "" {
		return nil, nil, path, fmt.Errorf("task: -data idx:%s: no %s there, plain or with .gz", f.dir, name)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, path, fmt.Errorf("task: %w", err)
	}
	defer file.Close()
	if elements, shape, err = readIDX(file, magic); err != nil {
		return nil, nil, path, fmt.Errorf("task: %s: %w", path, err)
	}
	return elements, shape, path, nil
}

// readIDX reads one IDX file, plain or gzipped as its first bytes say. What the header claims is checked against the
// elements that are really there, and decides no allocation.
func readIDX(r io.Reader, magic uint32) (elements []byte, shape []int, err error) {
	br := bufio.NewReader(r)
	r = br
	if head, _ := br.Peek(2); string(head) == "\x1f\x8b" {
		if r, err = gzip.NewReader(br); err != nil {
			return nil, nil, err
		}
	}
	header := make([]byte, 4+4*(magic&0xff))
	if n, err := io.ReadFull(r, header); err != nil {
		return nil, nil, fmt.Errorf("ends after %d bytes of an idx header of %d (%w)", n, len(header), err)
	}
	if m := binary.BigEndian.Uint32(header); m != magic {
		return nil, nil, fmt.Errorf("starts with %#08x, want the magic number %#08x", m, magic)
	}
	claim := int64(1)
	for h := header[4:]; len(h) > 0; h = h[4:] {
		size := int64(binary.BigEndian.Uint32(h))
		if size == 0 {
			return nil, nil, errors.New("header gives a dimension the size 0")
		}
		if size > math.MaxInt32/claim {
			return nil, nil, fmt.Errorf("header claims more than %d bytes", math.MaxInt32)
		}
		claim *= size
		shape = append(shape, int(size))
	}
	elements, err = io.ReadAll(io.LimitReader(r, claim+1))
	switch n := int64(len(elements)); {
	case n > claim:
		return nil, nil, fmt.Errorf("goes on after the %d bytes that its header claims", claim)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, nil, fmt.Errorf("truncated: its gzip stream breaks off after %d of the %d bytes that its header claims",
			n, claim)
	case err != nil:
		return nil, nil, err
	case n < claim:
		return nil, nil, fmt.Errorf("truncated: holds %d of the %d bytes that its header claims", n, claim)
	}
	return elements, shape, nil
}

// idxTable scales pixels from 0..255 to [0, 1].
func idxTable(name string, pixels []byte, dim int, labels []byte) *table {
	t := &table{name: name, dim: dim, labels: make([]string, len(labels))}
	for i, l := range labels {
		t.labels[i] = strconv.Itoa(int(l))
	}
	t.fill = func(row []float32, i int) {
		for j, p := range pixels[i*dim : (i+1)*dim] {
			row[j] = float32(p) / 255
		}
	}
	return t
}
