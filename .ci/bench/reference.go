package main

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// smallJob is a whole job: read images of two classes, find principal components, train a ring of nodes, and test.
type smallJob struct {
	samples, pixels, components, nodes, rounds, tau int
	eta, mu                                         float64
}

// plainSet is a data set: rows of numbers, and for each row the class, -1 or 1.
type plainSet struct {
	x [][]float64
	y []float64
}

// plain performs the job in plain loops over float64 numbers, without this project's packages, and returns the mean
// accuracy of the nodes. The method is the paper's form with all samples in each batch.
func (j smallJob) plain(dir string) (accuracy float64, err error) {
	train, errTrain := readPlain(dir, "train", j.pixels)
	test, errTest := readPlain(dir, "t10k", j.pixels)
	if err := errors.Join(errTrain, errTest); err != nil {
		return 0, err
	}
	j.project(train, test)
	for _, x := range j.train(train) {
		for i, row := range test.x {
			if (plainProduct(x, row) > 0) == (test.y[i] > 0) {
				accuracy += 100 / float64(len(test.x)*j.nodes)
			}
		}
	}
	return accuracy, nil
}

func readPlain(dir, part string, pixels int) (s plainSet, err error) {
	images, errImages := os.ReadFile(filepath.Join(dir, part+"-images-idx3-ubyte"))
	labels, errLabels := os.ReadFile(filepath.Join(dir, part+"-labels-idx1-ubyte"))
	if err := errors.Join(errImages, errLabels); err != nil {
		return s, err
	}
	n := int(binary.BigEndian.Uint32(labels[4:]))
	for i := range n {
		row := make([]float64, pixels)
		for k := range row {
			row[k] = float64(images[16+i*pixels+k]) / 255
		}
		s.x, s.y = append(s.x, row), append(s.y, 2*float64(labels[8+i]&1)-1)
	}
	return s, nil
}

// project replaces the rows of both sets by their principal components in the training set: the covariance matrix, and
// 20 steps of the power method with orthogonalization.
func (j smallJob) project(train, test plainSet) {
	mean, cov, n := make([]float64, j.pixels), make([][]float64, j.pixels), float64(len(train.x))
	for _, row := range train.x {
		plainAdd(mean, 1/n, row)
	}
	for i := range cov {
		cov[i] = make([]float64, j.pixels)
	}
	for _, set := range []plainSet{train, test} {
		for _, row := range set.x {
			plainAdd(row, -1, mean)
		}
	}
	for _, row := range train.x {
		for i, x := range row {
			plainAdd(cov[i], x/n, row)
		}
	}
	vectors, total := make([][]float64, j.components), 0.0
	for l := range vectors {
		v := make([]float64, j.pixels)
		v[l] = 1
		for range 20 {
			next := make([]float64, j.pixels)
			for i, row := range cov {
				next[i] = plainProduct(row, v)
			}
			for _, w := range vectors[:l] {
				plainAdd(next, -plainProduct(next, w), w)
			}
			clear(v)
			plainAdd(v, 1/math.Sqrt(plainProduct(next, next)), next)
		}
		vectors[l] = v
	}
	for _, row := range train.x {
		for _, v := range vectors {
			total += plainProduct(row, v) * plainProduct(row, v) / n
		}
	}
	scale := math.Sqrt(float64(j.components) / total)
	for _, set := range []plainSet{train, test} {
		for i, row := range set.x {
			set.x[i] = make([]float64, j.components)
			for l, v := range vectors {
				set.x[i][l] = scale * plainProduct(row, v)
			}
		}
	}
}

// train returns the nodes' models. Node i has every sample whose index is i modulo the number of nodes.
func (j smallJob) train(set plainSet) (models [][]float64) {
	r := rand.New(rand.NewPCG(1, 1))
	zero := func() [][]float64 {
		m := make([][]float64, j.nodes)
		for i := range m {
			m[i] = make([]float64, j.components)
		}
		return m
	}
	highest := 2 - 2*math.Cos(2*math.Pi*float64(j.nodes/2)/float64(j.nodes))
	gain := share * 8 / 3 / highest
	x, left, right := zero(), zero(), zero() // left and right are z of the edges to the left and right neighbors
	for range j.rounds {
		p, next := zero(), zero()
		for i := range x {
			for l := range p[i] {
				p[i][l] = 2*x[i][l] - left[i][l] - right[i][l]
			}
			plainAdd(next[i], 1, x[i])
			plainAdd(next[i], -gain, p[i])
			plainAdd(next[i], 1, j.local(r, set, i, x[i], p[i], gain/float64(j.tau)))
		}
		x = next
		newLeft, newRight := zero(), zero()
		for i := range x {
			before, after := (i+j.nodes-1)%j.nodes, (i+1)%j.nodes
			for l := range x[i] {
				newLeft[i][l] = (left[i][l] - right[before][l] + 2*x[before][l]) / 2
				newRight[i][l] = (right[i][l] - left[after][l] + 2*x[after][l]) / 2
			}
		}
		left, right = newLeft, newRight
	}
	return x
}

// local returns -eta times the sum of a node's estimates in a round.
func (j smallJob) local(r *rand.Rand, set plainSet, node int, x, p []float64, drift float64) []float64 {
	d := j.components
	phi, s, point, mean := append([]float64(nil), x...), make([]float64, d), make([]float64, d), make([]float64, d)
	var table [][]float64
	m := float64((len(set.x) - node + j.nodes - 1) / j.nodes)
	ask := func(k int, to []float64) {
		signs := r.Uint64()
		for l := range point {
			to[l] = 1 - 2*float64(signs>>l&1)
			point[l] = phi[l] + j.mu*to[l]
		}
		wrong := 1 / (1 + math.Exp(set.y[k]*plainProduct(point, set.x[k])))
		for l := range to {
			to[l] *= wrong * wrong
		}
	}
	for k := node; k < len(set.x); k += j.nodes {
		table = append(table, make([]float64, d))
		ask(k, table[len(table)-1])
		plainAdd(mean, 1/m, table[len(table)-1])
	}
	q := make([]float64, d)
	for range j.tau {
		v, change := append([]float64(nil), mean...), make([]float64, d)
		for h, row := range table {
			ask(node+h*j.nodes, q)
			for l, old := range row {
				change[l] += (q[l] - old) / m
				row[l] = q[l]
			}
		}
		plainAdd(v, 1, change)
		plainAdd(mean, 1, change)
		plainAdd(phi, -j.eta, v)
		plainAdd(phi, -drift, p)
		plainAdd(s, -j.eta, v)
	}
	return s
}

func plainAdd(y []float64, a float64, x []float64) {
	for i, xi := range x {
		y[i] += a * xi
	}
}

func plainProduct(x, y []float64) (sum float64) {
	for i, xi := range x {
		sum += xi * y[i]
	}
	return sum
}
