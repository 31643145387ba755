package main

import (
	"path/filepath"
	"strings"

	"github.com/spade-dfl/spade-edge/examples/hospital/heart"
)

// task is an invocation of "simulate" in which the default step size is compared with other step sizes.
type task struct {
	name string
	args []string
}

// gate specifies a private run with default settings and the accuracy, in percent, that the run must reach.
type gate struct {
	task
	least float64
}

// tasks returns the tasks without noise (open) and the private runs. It first writes their input files to the lab's
// folder. The parameter data is the path of the folder with the data sets.
func (l *lab) tasks(data string) (open []task, private []gate, err error) {
	words := strings.Fields
	agreed, brain := filepath.Join(l.dir, "agreed.json"), filepath.Join(l.dir, "brain.json")
	err = l.fit(agreed, words("-data csv:examples/hospital/agreed.csv -label ill -onehot cp,restecg,slope,thal -missing indicator "+
		"-test-fraction 0")...)
	if err == nil { // once, because each of many runs would take half a minute to find the same components
		err = l.fit(brain, "-data", "idx:"+filepath.Join(data, "brain-tumor-64"), "-pca", "20")
	}
	if err != nil {
		return nil, nil, err
	}
	hospitals, err := heart.Write(filepath.Join(data, "heart-four-hospitals"), l.dir)
	if err != nil {
		return nil, nil, err
	}
	images := func(folder, flags string) []string {
		return append([]string{"-data", "idx:" + filepath.Join(data, folder)}, words(flags)...)
	}
	const skewed = " -nodes 31 -graph er:0.3 -partition dirichlet:0.3"
	alzheimers := func(flags string) []string {
		return append([]string{"-data", "csv:" + filepath.Join(data, "alzheimers", "alzheimers_disease_data.csv")},
			words("-label Diagnosis -drop PatientID,DoctorInCharge -onehot Ethnicity,EducationLevel"+flags)...)
	}
	fashion := task{"Fashion-MNIST, N = 31", images("fashion-0-1", "-pca 10"+skewed)}
	tumor := task{"Brain Tumor, N = 31", append(images("brain-tumor-64", skewed), "-task", brain)}
	open = []task{
		fashion,
		{"Fashion-MNIST, N = 8, complete", images("fashion-0-1", "-pca 20 -nodes 8 -graph complete")},
		tumor,
		{"Alzheimer's, N = 31", alzheimers(skewed)},
		{"Alzheimer's, N = 10, complete", alzheimers(" -nodes 10 -graph complete")},
		{"generated clinics, N = 50", nil},
		{"MNIST 6/7, N = 31", images("mnist-6-7", "-pca 10"+skewed)},
		{"four hospitals", []string{"-task", agreed, "-data", "csv:" + strings.Join(hospitals, ","), "-test-fraction", "0.25",
			"-graph", "complete"}},
		{"patients.csv, N = 4", words("-data csv:examples/patients.csv -label diagnosis -drop id -onehot ward -nodes 4 -graph complete")},
		{"perceptron on generated clinics, N = 50", words("-model perceptron")},
	}
	return open, []gate{{fashion, 95.5}, {tumor, 60}}, nil
}
