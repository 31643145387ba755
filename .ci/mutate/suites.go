package main

// suite selects the tests that should detect a mutation: those in the package pkg whose names match the pattern run.
// The package may be in a separate module.
type suite struct{ pkg, run string }

const transcripts = "./cmd/spade-edge/transcripts"

var (
	method = suite{"./sdk/admm",
		"Reference|DecayRate|Momentum|BothEnds"}
	crashes   = suite{"./sdk/admm", "Crashes|Restore|Scenes|LateRepeat"}
	oracle    = suite{"./zoest", "Reference|Conditional|SecondMoment|Tracking|Walsh|StagesAskOnce|Constant"}
	privacy   = suite{"./dpmech", "Release|Clip|Ball|NormalLaw|Round|Rho|AgainstReference"}
	proofs    = suite{"./dpmech/certificate", "Certificate|SignedBytes"}
	layman    = suite{"./dpmech/explain", "Guess|Bars"}
	reports   = suite{transcripts, "Transcripts/^privacy$"}
	audits    = suite{"./sdk/audit", "."}
	edge      = suite{"./sdk/admm", "CrashOracle|NothingReceived|NothingFails|NewRefuses"}
	ledger    = suite{"./sdk/state", "Ledger|Dialogues|FoundIsDurable|EveryStepFails"}
	resume    = suite{"./dpmech", "CheckResume"}
	claims    = suite{"./sdk/trust", "Dialogues"}
	order     = suite{"./sdk", "CrashBetween|ReservationWithout|LostReleases|NoSecondLook"}
	edits     = suite{"./sdk", "MemoryBelongsToData|MovesNoOtherRow"}
	agree     = suite{"./sdk/pair", "BothEnds|LowOrder|OneText|Public"}
	oneTime   = suite{"./sdk", "PairKeys|WithoutAWord"}
	pairFile  = suite{"./sdk/state", "PairKeys"}
	flows     = suite{"./sdk/admm", "Flows|Crashes"}
	network   = suite{"./sdk/graph", "StabilityLimit|Spectrum"}
	pairs     = suite{"./dpmech", "Shared|Alone|TwoLimits|FilterRounds|UnknownAdversary"}
	stated    = suite{"./dpmech/certificate", "SharedNoise|TwoAdversaries"}
	sums      = suite{"./sdk/admm", "SharedNoise|Absent"}
	keys      = suite{"./sdk/pair", "Key"}
	liars     = suite{"./sdk/admm", "Liars"}
	dropped   = suite{"./sdk/admm", "Quarantine|Scenes"}
	floods    = suite{"./transport/ws", "Useless"}
	framing   = suite{"./transport/ws", "WholeFrames|LibraryAsPeer|HeldWrites"}
	words     = suite{"./sdk", "Queue|LastWord"}
	worlds    = suite{"./sdk/admm", "WorldsOfOneMember"}
	saddles   = suite{"./sdk/plan", "Saddle"}
	ofVerdict = suite{"./cmd/spade-edge/internal/verdict", "Decide|Site"}
	verdicts  = suite{transcripts, "Transcripts/^verdict$"}
	corrected = suite{transcripts, "Transcripts/^recalibrate$"}
	looks     = suite{"./cmd/spade-edge/task/screen", "Among|Strange|One|NoFalseAlarm|Hospitals"}
	overlay   = suite{"./sdk/admm", "SharedNoise|WithoutTheAbsent"}
	partners  = suite{"./sdk", "PartnersOnARing"}
	brokers   = suite{"./transport/broker/internal/sealed", "Ring|Piece|Replays|Moved|Stolen|FlippedBits"}
	choices   = suite{"./sdk/plan", "Suggest"}
	waits     = suite{"./sdk", "SaysWhom|WaitingTells|LogsByDefault|ReservesItsState"}
	places    = suite{"./transport", "ParseAddress"}
	members   = suite{"./transport/ws", "ConfigOf|Probe$"}
	sends     = suite{"./transport/ws", "SendNow"}
	adapters  = suite{"./examples/adapter", "Expand|Open|Validate|Parse|Oracle|Task"}
	programs  = suite{"./sdk/fleetfile", "ProgramTask"}
	scenes    = suite{"./sdk/admm", "Scenes"}
)
