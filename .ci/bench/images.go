package main

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// writeImages writes the IDX files of one part of a data set: n images with the given number of pixels, alternating
// between two classes. Each image is a sum of a dozen patterns, so pixels are correlated, as in images of digits. The
// first two patterns differ between the classes.
func writeImages(dir, part string, n, pixels int) error {
	const patterns = 12
	r := rand.New(rand.NewPCG(1, uint64(pixels)))
	shapes := make([]float64, patterns*pixels)
	for i := range shapes {
		shapes[i] = 24 * r.NormFloat64() / float64(1+i/pixels)
	}
	images := binary.BigEndian.AppendUint32(nil, 0x803)
	labels := binary.BigEndian.AppendUint32(nil, 0x801)
	for _, size := range []int{n, 1, pixels} {
		images = binary.BigEndian.AppendUint32(images, uint32(size))
	}
	labels = binary.BigEndian.AppendUint32(labels, uint32(n))
	r = rand.New(rand.NewPCG(uint64(n), uint64(pixels)))
	for i := range n {
		labels = append(labels, byte(6+i%2))
		var weights [patterns]float64
		for k := range weights {
			weights[k] = r.NormFloat64()
		}
		for k := range 2 {
			weights[k] += 3 * float64(2*(i%2)-1)
		}
		for j := range pixels {
			x := 128.0
			for k, w := range weights {
				x += w * shapes[k*pixels+j]
			}
			images = append(images, byte(max(0, min(x, 255))))
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, part+"-images-idx3-ubyte"), images, 0o600),
		os.WriteFile(filepath.Join(dir, part+"-labels-idx1-ubyte"), labels, 0o600))
}
