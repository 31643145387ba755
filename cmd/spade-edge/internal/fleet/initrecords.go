package fleet

import (
	"fmt"
	"strconv"

	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/cli"
	"github.com/spade-dfl/spade-edge/cmd/spade-edge/internal/setup"
	"github.com/spade-dfl/spade-edge/sdk"
	"github.com/spade-dfl/spade-edge/sdk/admm"
)

// readRecords reads -records.
func (o *initOptions) readRecords(text string) error {
	o.records = nil
	for _, part := range setup.List(text) {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return fmt.Errorf("%q, want numbers of at least 1 with commas between them", part)
		}
		o.records = append(o.records, n)
	}
	return nil
}

// checkRecords reports what is wrong with the numbers of records, which have to be exact where each record is protected.
func (o *initOptions) checkRecords(f *cli.Faults) {
	each := o.Asked.Privacy.Unit == sdk.UnitRecord
	f.When(o.Given["records"] && !each, "-records without -unit record: only there the numbers are fixed and public")
	f.When(o.Given["records"] && o.deal, "-records does not go with data that are dealt out, which are counted")
	f.When(o.Given["records"] && o.Given["samples"], "-records and -samples exclude each other")
	f.When(each && o.Given["records"] && len(o.records) != len(o.Names), "-records has %d numbers, want one for each of %d nodes",
		len(o.records), len(o.Names))
	f.When(each && !o.deal && !o.Given["records"] && !o.Given["samples"], "-unit record without -records: how many records each "+
		"node has is public and fixed; give the numbers, or -samples if they are all the same")
	places, person := o.Asked.Privacy.Places, ""
	if o.recipe != nil {
		person = o.recipe.Person
	}
	f.When(each && places == 0 && person != "", "-places is missing: the task says whose each row is (%q), and how many records of one "+
		"person count is public; rows beyond that are not learned from", person)
	f.When(each && places > 1 && !o.deal && o.builtin() && o.recipe != nil && person == "", "-places without persons: -task has no column "+
		"that says whose a row is; fit it with -person COLUMN")
	f.When(each && o.deal && o.Partition != "iid", "-partition is %s, want iid, as -unit is record: by labels, one record would decide "+
		"which others a node has", o.Partition)
	f.When(each && o.deal && o.Given["labels"] && len(o.Spec.Labels) > 0, "-labels does not go with -deal -unit record: samples that are "+
		"left out change the number of records, which is public and fixed; name data that have these classes only")
	f.When(each && !o.deal && o.builtin() && o.recipe == nil, "-unit record without -task: what nodes fit on their own records "+
		"changes what every one of them is turned into")
}

// weigh makes clip and noise of a fleet that protects each record follow the mean number of records, by which what a record
// brings is divided. A record's slope is then clipped where it was, and epsilon stays what it was, or a last digit less.
func (e *fleetEdit) weigh() {
	p := &e.file.Fleet.Privacy
	ratio := admm.NewRecords(e.old.Fleet.Records, 1).Mean / admm.NewRecords(e.file.Fleet.Records, 1).Mean
	if ratio == 1 {
		return
	}
	shared := p.PairSigma / p.Sigma // a power of two
	p.Clip *= ratio * (1 - 0x1p-50) // so that no rounding makes a run cost more than its limit
	p.Sigma *= ratio
	p.PairSigma = shared * p.Sigma
	e.note("clip and noise follow the mean number of records: %.4g times what they were", ratio)
}
