package task

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spade-dfl/spade-edge/zoest"
)

// visits writes a file in which each person has one to four rows, not all adjacent, and returns its path.
func visits(t *testing.T, persons int) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("age,who,ill\n")
	for visit := range 4 {
		for p := range persons {
			if visit <= p%4 {
				fmt.Fprintf(&text, "%d,p%d,%s\n", 40+p+visit, p, map[bool]string{true: "yes", false: "no"}[p%2 == 0])
			}
		}
	}
	return ownFile(t, text.String())
}

// TestPersonsStayTogether checks that all rows of a person go to one part of the test split and to one client, and that
// the column of persons is not a feature.
func TestPersonsStayTogether(t *testing.T) {
	set := must(Load(Spec{Source: visits(t, 40), Label: "ill", Person: "who", Seed: 3}))(t)
	if set.Train.Dim != 2 || set.Train.Len()+set.Test.Len() != 100 || set.Train.Places() != 4 {
		t.Fatalf("%d columns, %d and %d rows, %d places", set.Train.Dim, set.Train.Len(), set.Test.Len(), set.Train.Places())
	}
	for _, who := range set.Test.Person {
		if slices.Contains(set.Train.Person, who) {
			t.Fatalf("person %d is in both parts", who)
		}
	}
	parts := must(Partition{}.Deal(set.Train, 3, 1))(t)
	rows, seen := 0, map[int]int{}
	for client, part := range parts {
		rows += len(part)
		for _, i := range part {
			if other, ok := seen[set.Train.Person[i]]; ok && other != client {
				t.Fatalf("person %d is with clients %d and %d", set.Train.Person[i], other, client)
			}
			seen[set.Train.Person[i]] = client
		}
	}
	if rows != set.Train.Len() || len(seen) != 32 {
		t.Errorf("%d of %d rows, %d persons dealt out", rows, set.Train.Len(), len(seen))
	}
}

// A recipe finds the persons in a device's file, and its JSON form keeps the name of their column.
func TestPersonsByRecipe(t *testing.T) {
	source := visits(t, 12)
	recipe := must(Fit(Spec{Source: source, Label: "ill", Person: "who", Whole: true}, ModelSpec{Name: SoftmaxModel}, "a test"))(t)
	set, err := recipe.Apply(Spec{Source: source, Whole: true})
	if err != nil || recipe.Person != "who" || set.Train.Places() != 4 {
		t.Fatalf("%+v, %v, want persons with up to 4 rows", recipe, err)
	}
	file := strings.TrimPrefix(source, "csv:")
	all, err := recipe.Apply(Spec{Whole: true, Files: []string{file, file}})
	if err != nil || len(all.Each()) != 2 || slices.Max(all.Train.Person) != 23 {
		t.Errorf("persons %v of two files, %v, want 24", all.Train.Person, err)
	}
	recipe.Person = "ill"
	if err := recipe.Validate(); err == nil || !strings.Contains(err.Error(), "other than the label") {
		t.Errorf("%v, want an error about the label as person", err)
	}
}

// TestPlaces checks that the places of a person are adjacent, that a place without a row has loss 0 for all parameters,
// and that rows of a person beyond the number of places are never queried. Single queries and batches return the same
// bits.
func TestPlaces(t *testing.T) {
	set := must(Load(Spec{Source: visits(t, 9), Label: "ill", Person: "who", Whole: true}))(t)
	for _, spec := range []ModelSpec{{Name: SoftmaxModel}, {Name: PerceptronModel, Hidden: 2}} {
		plain := spec.New(set.Train)
		placed := plain.InPlaces(3)
		if placed.Len() != 27 || placed.Accuracy(make([]float32, placed.Dim())) != plain.Accuracy(make([]float32, plain.Dim())) {
			t.Fatalf("%d places for 9 persons", placed.Len())
		}
		x := make([]float32, placed.Dim())
		for i := range x {
			x[i] = float32(i+1) / 7
		}
		queries, losses := make([]zoest.Query, placed.Len()), make([]float64, placed.Len())
		for i := range queries {
			queries[i] = zoest.Query{Point: x, Sample: i}
		}
		if err := placed.Losses(context.Background(), queries, losses); err != nil {
			t.Fatal(err)
		}
		for p := range 9 {
			var own []float64 // losses of the person's rows, in the order of the file
			for i, who := range set.Train.Person {
				if who == p {
					loss, _ := plain.Loss(context.Background(), x, i)
					own = append(own, loss)
				}
			}
			want := append(own, 0, 0, 0)[:3]
			if got := losses[p*3 : p*3+3]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: person %d has losses %v, want %v", spec.Name, p, got, want)
			}
			for j := range 3 {
				if one, err := placed.Loss(context.Background(), x, p*3+j); err != nil || one != losses[p*3+j] {
					t.Errorf("place %d: %v by itself, %v with others, %v", p*3+j, one, losses[p*3+j], err)
				}
			}
		}
		queries[4].Sample, queries[5].Point = 27, x[1:]
		if err := placed.Losses(context.Background(), queries, losses); err != nil || !math.IsNaN(losses[4]) || !math.IsNaN(losses[5]) {
			t.Errorf("%v and %v, %v, want NaN", losses[4], losses[5], err)
		}
	}
}

// Each error in the column of persons is reported once.
func TestWrongPersons(t *testing.T) {
	source := ownFile(t, "a,who,y\n1,p,no\n2,,yes\n")
	for want, s := range map[string]Spec{
		`person "patient": `: {Source: source, Label: "y", Person: "patient"},
		`line 3: column "who": empty, want the person of this row`: {Source: source, Label: "y", Person: "who"},
		`person "y": that column is already in label`:              {Source: source, Label: "y", Person: "y"},
		`person "who": only for data csv:FILE`:                     {Source: "synthetic:clinical", Person: "who"},
	} {
		if _, err := Load(s); err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("%v, want %q once", err, want)
		}
	}
}

// TestDigest checks that the digest of a model's data changes with each number, class, target, place or kind of model, and
// with nothing else.
func TestDigest(t *testing.T) {
	fresh := func() *Data {
		return &Data{Dim: 2, Classes: 2, X: []float32{1, 2, 3, 4, 5, 6}, Y: []int{0, 1, 0}, Person: []int{7, 7, 9}}
	}
	seen := map[string]string{}
	for name, digest := range map[string]string{
		"classes":       NewSoftmax(fresh()).Digest(),
		"places":        NewSoftmax(fresh()).InPlaces(2).Digest(),
		"other places":  NewSoftmax(fresh()).InPlaces(3).Digest(),
		"other persons": NewSoftmax(&Data{Dim: 2, Classes: 2, X: fresh().X, Y: fresh().Y, Person: []int{7, 9, 7}}).InPlaces(2).Digest(),
		"another cell":  NewSoftmax(&Data{Dim: 2, Classes: 2, X: []float32{1, 2, 3, 4, 5, 7}, Y: fresh().Y}).Digest(),
		"a zero's sign": NewSoftmax(&Data{Dim: 2, Classes: 2, X: []float32{1, 0, 3, 4, 5, 6}, Y: fresh().Y}).Digest(),
		"no sign":       NewSoftmax(&Data{Dim: 2, Classes: 2, X: []float32{1, float32(math.Copysign(0, -1)), 3, 4, 5, 6}, Y: fresh().Y}).Digest(),
		"another order": NewSoftmax(fresh().Select([]int{1, 0, 2})).Digest(),
		"another class": NewSoftmax(&Data{Dim: 2, Classes: 2, X: fresh().X, Y: []int{0, 1, 1}}).Digest(),
		"three classes": NewSoftmax(&Data{Dim: 2, Classes: 3, X: fresh().X, Y: fresh().Y}).Digest(),
		"one column":    NewSoftmax(&Data{Dim: 1, Classes: 2, X: []float32{1, 2, 3}, Y: fresh().Y}).Digest(),
		"a perceptron":  ModelSpec{Name: PerceptronModel, Hidden: 2}.New(fresh()).Digest(),
		"a larger one":  ModelSpec{Name: PerceptronModel, Hidden: 3}.New(fresh()).Digest(),
		"targets":       ModelSpec{Name: LinearModel}.New(&Data{Dim: 2, Classes: 2, X: fresh().X, Y: fresh().Y, Target: []float64{1, 2, 1}, Range: &Range{0, 4}}).Digest(),
		"another range": ModelSpec{Name: LinearModel}.New(&Data{Dim: 2, Classes: 2, X: fresh().X, Y: fresh().Y, Target: []float64{1, 2, 1}, Range: &Range{0, 5}}).Digest(),
		"no data":       NewSoftmax(&Data{Dim: 2, Classes: 2}).Digest(),
	} {
		if other, same := seen[digest]; same || len(digest) != 64 {
			t.Errorf("%s and %s have the digest %q", name, other, digest)
		}
		seen[digest] = name
	}
	named := fresh()
	named.Features, named.Person = []string{"a", "b"}, []int{0, 0, 1}
	if seen[NewSoftmax(named).InPlaces(2).Digest()] != "places" {
		t.Error("other names and pseudonyms are other data")
	}
}
