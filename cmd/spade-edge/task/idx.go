package task

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/spade-dfl/spade-edge/sdk/regular"
)

// The magic numbers of the IDX files for images and for labels (LeCun, Cortes and Burges, "The MNIST database of
// handwritten digits"). An IDX file has a magic number (two zero bytes, the element type, the number of dimensions), a
// big-endian 32-bit size for each dimension, and the elements, which are unsigned bytes (type 8) here.
const (
	imagesMagic = 0x00000803
	labelsMagic = 0x00000801
)

// loadIDX reads the IDX files of a folder. test is nil if the folder has no test files.
func loadIDX(dir string) (train, test *table, err error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, fmt.Errorf("task: %w", err)
	}
	var errTest error
	var other sync.WaitGroup
	other.Go(func() { test, errTest = loadIDXPair(dir, "t10k-", "test-") })
	if train, err = loadIDXPair(dir, "train-", ""); err == nil && train == nil {
		err = fmt.Errorf("task: %s: the folder has no train-images-idx3-ubyte or images-idx3-ubyte (plain or .gz)", dir)
	}
	other.Wait()
	if err = cmp.Or(err, errTest); err == nil && test != nil && test.dim != train.dim {
		err = fmt.Errorf("task: %s holds images of %d pixels, but %s holds images of %d pixels", test.name, test.dim, train.name, train.dim)
	}
	return train, test, err
}

// findIDX returns the path of a file, or "" if it does not exist. The file may be plain or have .gz appended, may have a
// dot before "idx", and may be in a folder of its own name, as in archives of MNIST.
func findIDX(dir, name string) string {
	for _, name := range []string{name, strings.Replace(name, "s-idx", "s.idx", 1)} {
		for _, path := range []string{name, name + ".gz", filepath.Join(name, name)} {
			path = filepath.Join(dir, path)
			if info, err := os.Stat(path); err == nil && !info.IsDir() {
				return path
			}
		}
	}
	return ""
}

// loadIDXPair reads the images and labels whose file names begin with the first prefix or, if there are none, with the
// other prefix. It returns nil if the folder has no such files.
func loadIDXPair(dir, prefix, other string) (*table, error) {
	exists := func(p string) bool {
		return findIDX(dir, p+"images-idx3-ubyte") != "" || findIDX(dir, p+"labels-idx1-ubyte") != ""
	}
	switch first, second := exists(prefix), exists(other); {
	case first && second:
		return nil, fmt.Errorf("task: %s: found both %simages-idx3-ubyte and %simages-idx3-ubyte (or "+
			"their label files), want only one of them", dir, prefix, other)
	case !first && !second:
		return nil, nil
	case second:
		prefix = other
	}
	pixels, shape, images, errImages := loadIDXFile(dir, prefix+"images-idx3-ubyte", imagesMagic)
	classes, _, labels, errLabels := loadIDXFile(dir, prefix+"labels-idx1-ubyte", labelsMagic)
	if err := errors.Join(errImages, errLabels); err != nil {
		return nil, err
	}
	if shape[0] != len(classes) {
		return nil, fmt.Errorf("task: %s holds %d images, but %s holds %d labels", images, shape[0], labels, len(classes))
	}
	t := &table{name: images, dim: shape[1] * shape[2]}
	for _, c := range classes {
		t.labels = append(t.labels, strconv.Itoa(int(c)))
	}
	var brightness [256]float64
	for p := range brightness {
		brightness[p] = float64(float32(p) / 255)
	}
	t.fill = func(row []float64, i int) {
		for j, p := range pixels[i*t.dim : (i+1)*t.dim] {
			row[j] = brightness[p]
		}
	}
	return t, nil
}

func loadIDXFile(dir, name string, magic uint32) (elements []byte, shape []int, path string, err error) {
	if path = findIDX(dir, name); path == "" {
		return nil, nil, "", fmt.Errorf("task: %s: the folder has no %s (plain or .gz)", dir, name)
	}
	file, err := regular.Read(path, mostData)
	if err != nil {
		return nil, nil, "", fmt.Errorf("task: %w", err)
	}
	if elements, shape, err = readIDX(file, magic); err != nil {
		err = fmt.Errorf("task: %s: %w", path, err)
	}
	return elements, shape, path, err
}

// readIDX decodes the content of an IDX file, plain or gzipped according to its first bytes. It allocates memory for what
// the file can hold, not for the size that its header claims.
func readIDX(file []byte, magic uint32) (elements []byte, shape []int, err error) {
	var r io.Reader = bytes.NewReader(file)
	most, zipped := int64(len(file)), string(file[:min(2, len(file))]) == "\x1f\x8b"
	if zipped {
		most *= 1032 // deflate turns one byte into at most so many
		if r, err = gzip.NewReader(r); err != nil {
			return nil, nil, fmt.Errorf("the gzip file is damaged or cut off: %w", err)
		}
	}
	header := make([]byte, 4+4*(magic&0xff))
	if n, err := io.ReadFull(r, header); err != nil {
		return nil, nil, fmt.Errorf("ends after %d of the %d bytes of an IDX header (%w)", n, len(header), err)
	}
	if m := binary.BigEndian.Uint32(header); m != magic {
		return nil, nil, fmt.Errorf("starts with %#08x, want the magic number %#08x", m, magic)
	}
	claim := int64(1)
	for h := header[4:]; len(h) > 0; h = h[4:] {
		size := int64(binary.BigEndian.Uint32(h))
		if size == 0 || size > math.MaxInt32/claim {
			return nil, nil, fmt.Errorf("header has a dimension of size %d, want sizes of at least 1, and at most %d bytes together", size,
				math.MaxInt32)
		}
		claim *= size
		shape = append(shape, int(size))
	}
	data := bytes.NewBuffer(make([]byte, 0, min(claim, most)+bytes.MinRead))
	n, err := data.ReadFrom(io.LimitReader(r, claim+1))
	switch {
	case n > claim:
		return nil, nil, fmt.Errorf("has data after the %d bytes that its header claims", claim)
	case zipped && err != nil:
		err = fmt.Errorf("the gzip file is damaged or cut off: %w, after %d of %d bytes of data; copy it again", err, n, claim)
	case err == nil && n < claim:
		return nil, nil, fmt.Errorf("truncated: holds %d of the %d bytes that its header claims", n, claim)
	}
	return data.Bytes(), shape, err
}
