// Package survival has the model and the figures of a survival task: after how long an event happens, for samples of
// which many were observed for a while without it (censored).
//
// The model is that of discrete-time hazards (Singer and Willett, "It's about time", 1993; Andreux et al., "Federated
// survival analysis with discrete-time Cox models", 2020). [Horizon] cuts time into public intervals. The probability
// that the event happens in interval j, if it has not happened before, is h_j(x) = sigmoid(b_j + <w, x>). The loss of a
// sample depends on this sample alone, unlike the partial likelihood of Cox, so a record or a person can be the unit of
// protection.
//
// All results have the same bits on every processor.
package survival
