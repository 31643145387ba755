package method

// Rivals returns the six methods with which the paper compares SPADE-DFL, in the order of the paper's tables. Each has
// the form that the main column shows. Fields of the types select other readings of DP-SGD, DP-FedAvg and LT-ADMM-DP.
//
// All methods are extended beyond their publications in the same way. They use losses instead of gradients, by the
// estimates in section V-B of the paper; they use the whole query budget; and their noise covers a client's whole data
// set. In a world without privacy they neither clip nor add noise.
//
// The ranges of the parameters suit losses in [0, 1] of linear models on features of about unit size. In trials with
// several hundred random settings on such problems, wider ranges gained nothing. If every estimate is longer than the
// clip, only the product of clip and step size matters, so there are many good settings with a small clip.
func Rivals() []Method {
	return []Method{LTADMMVR{}, LTADMMDP{}, DPSGD{}, DPFedAvg{}, OnePointDSG{}, OnePointDSGT{}}
}
