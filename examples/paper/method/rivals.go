package method

// Rivals returns the six methods that the paper compares with SPADE-DFL, in the order of the paper's tables. Each
// method has the form shown in the main column of these tables. Fields of their types select other forms of DP-SGD,
// DP-FedAvg and LT-ADMM-DP.
//
// All methods are extended beyond their publications in the same way: they replace gradients with the estimates in
// section V-B of the paper, they use the whole query budget, and their noise protects a client's whole data set. In a
// world without privacy, the methods neither clip nor add noise.
//
// The parameter ranges suit losses in [0, 1] of linear models on features of about unit size. In trials with several
// hundred random settings on such problems, wider ranges gained nothing. If every estimate is longer than the clipping
// norm, only the product of clipping norm and step size matters, so there are many good settings with a small clipping
// norm.
func Rivals() []Method {
	return []Method{LTADMMVR{}, LTADMMDP{}, DPSGD{}, DPFedAvg{}, OnePointDSG{}, OnePointDSGT{}}
}
