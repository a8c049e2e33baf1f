package app

import (
	"errors"
	"flag"
	"fmt"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/holdshort/holdshort/policies/engine"
	"github.com/holdshort/holdshort/policies/record"
)

// decisionsPath is where records are served, beside the metrics: whoever may
// read those may read these.
const decisionsPath = "/debug/decisions"

// Decisions say which records of the policy's decisions are kept. By default
// none: they tell who runs what.
type Decisions struct {
	// Keep is how many are kept in memory and served at /debug/decisions.
	Keep int `json:"keep,omitempty"`
	// File to append them to. FileMiB is how large it may become, Files how many
	// older ones are kept.
	File    string `json:"file,omitempty"`
	FileMiB int    `json:"fileMiB,omitempty"`
	Files   int    `json:"files,omitempty"`
	// Masks are JSON pointers of what is left out of them.
	Masks []string `json:"masks,omitempty"`
	// Every is which repeat of an answer about a Job is recorded; 0: none.
	Every int `json:"every,omitempty"`
}

func (d *Decisions) flags(f *flag.FlagSet) {
	f.IntVar(&d.Keep, "decisions-keep", d.Keep, "how many records of the policy's decisions to keep in memory, for "+decisionsPath+" beside the metrics; 0: none")
	f.StringVar(&d.File, "decisions-file", d.File, "file to append the records to")
	f.IntVar(&d.FileMiB, "decisions-file-mib", d.FileMiB, "size at which that file is put aside")
	f.IntVar(&d.Files, "decisions-files", d.Files, "how many files that were put aside are kept")
	f.Var((*list)(&d.Masks), "decisions-masks", "JSON pointers of what is left out of records, comma-separated, like /input/workload/annotations")
	f.IntVar(&d.Every, "decisions-every", d.Every, "which repeat of an answer about a Job is recorded; changes always are; 0: none")
}

func (d *Decisions) validate() []error {
	var problems []error
	for _, n := range []struct {
		name  string
		value int
	}{
		{"decisions-keep", d.Keep}, {"decisions-file-mib", d.FileMiB}, {"decisions-files", d.Files}, {"decisions-every", d.Every},
	} {
		if n.value < 0 {
			problems = append(problems, fmt.Errorf("%s: %d is not valid. Try: 0 or more", n.name, n.value))
		}
	}
	if _, err := record.New(record.Options{Masks: d.Masks}); err != nil {
		problems = append(problems, fmt.Errorf("decisions-masks: %w", err))
	}
	return problems
}

// addRecorder serves the records, if any are to be kept; nil otherwise.
func addRecorder(d Decisions, mgr manager.Manager, log logr.Logger) (func(engine.Decision), error) {
	if d.Keep == 0 && d.File == "" {
		return nil, nil
	}
	recorder, err := record.New(record.Options{
		Size: d.Keep, File: d.File, FileBytes: int64(d.FileMiB) << 20, Files: d.Files, Masks: d.Masks, Every: d.Every,
		Labels: map[string]string{"app": "holdshort"},
		Failed: func(err error) { log.Error(err, "decision records") },
	})
	if err != nil {
		return nil, errors.Join(errors.New("decision records"), err)
	}
	if err := mgr.AddMetricsServerExtraHandler(decisionsPath, recorder); err != nil {
		return nil, fmt.Errorf("serving %s: %w", decisionsPath, err)
	}
	return recorder.Observe, nil
}
