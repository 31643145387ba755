// Package task turns files into learning tasks: it reads a data set, prepares it, deals it out to clients, and scores a
// linear classifier or a perceptron on it. The program, its demo and the experiments share it; the core of the SDK does
// not import it, and an embedder with a model of their own has no need for it.
//
// [Load] does what the program's data flags say. In order:
//
//  1. read: IDX files ("idx:DIR"), a CSV file ("csv:FILE") or generated patients ("synthetic:clinical");
//  2. keep the classes that -labels names, in that order;
//  3. split into training and test data, stratified by class, unless the source has a test set of its own;
//  4. standardise, then project on principal components, both fitted on the training split alone;
//  5. append a column of ones.
//
// What such a pipeline takes from the data (means, components, the categories of a column) is outside any privacy
// guarantee of a run that starts from its output. [Set] therefore lists it, in words meant for a certificate. Better is
// a [Recipe]: what [Fit] has taken from public data, all of it, and applies to the data of every device.
//
// A [Partition] deals samples to clients with the label skew that studies of federated learning use. [Softmax]
// and [Perceptron] are the built-in models; one per client is that client's oracle.
//
// Every result is a function of its arguments and the seed, with the same bits on every processor.
package task
