package method

// Rivals returns the six methods with which the paper compares SPADE-DFL, in the order of its tables, each in the form
// of the main column. The other readings of DP-SGD, DP-FedAvg and LT-ADMM-DP are fields of their types.
//
// All are extended beyond their publications in the same way: they use losses instead of gradients, by the estimates
// in section V-B of the paper; the whole query budget; and noise that covers a client's whole data set. In a world
// without privacy they neither clip nor add noise.
//
// The ranges of their spaces suit losses in [0, 1] of linear models on features of about unit size: wider ones gained
// nothing in trials with some hundred random settings on such problems. If the clip is always reached, only its
// product with the step size matters, so many settings with a small clip are good.
func Rivals() []Method {
	return []Method{LTADMMVR{}, LTADMMDP{}, DPSGD{}, DPFedAvg{}, OnePointDSG{}, OnePointDSGT{}}
}
