package method

// Rivals returns the six methods that SPADE-DFL is compared with, in the order of the paper's tables, each in the form
// of the main column. The other readings of DP-SGD, DP-FedAvg and LT-ADMM-DP are fields of their types.
//
// What they are given beyond their publications, all of them alike: losses instead of gradients, by the estimates that
// section V-B of the paper names; the whole of the query budget; and noise that covers a client's whole data set. In a
// world without privacy they neither clip nor add noise.
//
// The ranges of their spaces suit losses in [0, 1] of linear models on features of about unit size: in tries with some
// hundred random settings on such problems nothing was gained by wider ones. Where the clip is always reached, only its
// product with the step size matters, so that good settings with a small clip are many.
func Rivals() []Method {
	return []Method{LTADMMVR{}, LTADMMDP{}, DPSGD{}, DPFedAvg{}, OnePointDSG{}, OnePointDSGT{}}
}
