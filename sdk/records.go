package sdk

import "fmt"

// units returns how many samples a member has to have: samples, or what the fleet says of it where each record is
// protected.
func (f *Fleet) units(member, samples int) int {
	if f.Privacy.Unit == UnitRecord && member < len(f.Records) {
		return f.Records[member] * max(1, f.Privacy.Places)
	}
	return samples
}

// Each says what a figure of the run is the cost for: "for each client", "for each record" or "for each person".
func (p Privacy) Each() string {
	if p.Places > 1 {
		return "for each person"
	}
	return p.Unit.Each()
}

// wrongRecords is the error of a member that has other records than the fleet says.
func (f *Fleet) wrongRecords(member, samples int) error {
	want := fmt.Sprintf("%d, the records of %q in the fleet", f.Records[member], f.Members[member])
	if p := f.Privacy.Places; p > 1 {
		want = fmt.Sprintf("%d, %d places for each of the %d persons of %q in the fleet", f.units(member, 0), p, f.Records[member],
			f.Members[member])
	}
	return &FieldError{Package: "sdk", Field: "Samples", Found: fmt.Sprint(samples), Want: want + ": in a run that protects each " +
		"record this number is public and fixed; leave an invalid record in its place"}
}

// checkRecords reports what excludes a guarantee for each record.
func (f *Fleet) checkRecords(errs *faults) {
	if f.Privacy.Unit != UnitRecord {
		errs.refuse(f.Privacy.Places != 0, "privacy.places", f.Privacy.Places, "0, as privacy.unit is %v", f.Privacy.Unit)
		errs.refuse(f.Records != nil, "records", f.Records, "none, as privacy.unit is %v", f.Privacy.Unit)
		return
	}
	if len(f.Records) != len(f.Members) {
		errs.add(&FieldError{Package: "sdk: fleet", Field: "records", Found: fmt.Sprintf("a list of %d", len(f.Records)),
			Want: fmt.Sprintf("the number of records of each of the %d members, as privacy.unit is record", len(f.Members))})
	}
	for i, m := range f.Records {
		if !records.Has(float64(m)) {
			errs.add(records.Check("sdk: fleet", fmt.Sprintf("records[%d]", i), float64(m)))
		}
	}
	const want = "%v, as privacy.unit is record: %s"
	errs.refuse(f.Method.Batch != 0, "method.batch", f.Method.Batch, want, 0, "all records are asked in each step")
	errs.refuse(f.Method.Momentum != 0, "method.momentum", f.Method.Momentum, want, 0,
		"a sum of unreleased updates would count a record in many releases")
}
