// Package task turns files into learning tasks: it reads a data set, prepares it, divides it among clients, and scores
// a linear model or a perceptron on it, for classes or for a number. An embedder with a model of their own does not
// need it.
//
// [Load] prepares a data set as a [Spec] says. In order:
//
//  1. read: IDX files ("idx:DIR"), a CSV file ("csv:FILE") or generated patients ("synthetic:clinical");
//  2. keep the classes in Labels, in that order, or scale the number in Target;
//  3. split into training and test data, stratified by class (with Spec.Records by number alone), unless the source has
//     a test set of its own;
//  4. fill missing cells, by what was fitted on the training split alone;
//  5. standardise, then project on principal components, both fitted likewise;
//  6. append a column of ones.
//
// What this takes from the data (means, components, the categories of a column) is outside any privacy guarantee of a
// run that starts from the result. [Set] therefore lists it, in words meant for a certificate. A [Recipe] avoids it:
// [Fit] takes all of it from public data, and [Recipe.Apply] applies it to the data of every device.
//
// A [Partition] divides samples among clients: iid, or with the label skew of studies of federated learning. A
// [ModelSpec] names a built-in model; a [Model] is one client's oracle.
//
// Every result is a function of its arguments and the seed, with the same bits on every processor.
package task
