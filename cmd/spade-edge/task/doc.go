// Package task turns files into learning tasks. It reads a data set, prepares it, divides it among clients, and scores
// a linear model or a perceptron that predicts classes or a number. A program that embeds the SDK with its own model
// does not need this package.
//
// [Load] prepares a data set as a [Spec] specifies, in these steps:
//
//  1. Read IDX files ("idx:DIR"), a CSV file ("csv:FILE") or generated patients ("synthetic:clinical").
//  2. Keep the classes in Labels, in that order, or scale the number in Target.
//  3. Split into training and test data, stratified by class, unless the source has a test set. With Spec.Records, the
//     split depends only on the number of records.
//  4. Fill missing cells with values fitted on the training split.
//  5. Standardize, then project on principal components; both are fitted on the training split.
//  6. Append a column of ones.
//
// The privacy guarantee of a run that uses the set does not cover what these steps take from the data: means,
// components, and the categories of a column. [Set].Fitted lists them for a certificate. A [Recipe] avoids the problem:
// [Fit] takes everything from public data, and [Recipe.Apply] prepares the data of every device with the recipe.
//
// A [Partition] divides samples among clients: iid, or with the label skew common in studies of federated learning. A
// [ModelSpec] names a built-in model; a [Model] is the oracle of one client.
//
// Every result depends only on the arguments and the seed, and has the same bits on every processor.
package task
