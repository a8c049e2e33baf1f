package decide

// Options switch off what differs from Kueue; the zero value is the live system.
// They are there to be compared with it.
type Options struct {
	// AnybodysRoom: what victims leave is whoever's comes first, and not kept for
	// the Job that they made room for; nor does it matter whether that could keep it.
	AnybodysRoom bool
	// EarlyRelease: quota is free as soon as a Job is to be taken back, and not
	// when its pods are gone.
	EarlyRelease bool
	// HopelessBlock: a Job that can never start blocks a strict queue like any
	// other; one that could only with fewer pods than all counts as such.
	HopelessBlock bool
	// QuotaOnly: machines are not looked at.
	QuotaOnly bool
	// OneRound: a plan is one round, and goes on where Input.Memory says that the
	// one before it stopped.
	OneRound bool
}

// Memory is what a plan of one round leaves to the next.
type Memory struct {
	round   int
	parked  map[string]bool     // UIDs that were tried and wait for something to change
	first   map[string]string   // queue → UID of the Job that others were taken back for
	tried   map[string]progress // UID → how far the search for flavors came
	freed   map[string]int      // queue → how often something of it was freed
	from    map[string]tried    // UID → where the last search began
	untried bool                // some Jobs were not got to
}

// Untried tells whether Jobs are left that the last round did not get to.
func (m *Memory) Untried() bool { return m.untried }

// Retry has every Job that was parked tried once more.
func (m *Memory) Retry() { m.parked, m.from = map[string]bool{}, map[string]tried{} }
