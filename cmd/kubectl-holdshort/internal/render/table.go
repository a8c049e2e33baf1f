package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
	"github.com/holdshort/holdshort/ledger/reason"
)

// dash stands where there is nothing to say, so that columns stay countable.
const dash = "-"

// deleted is what a watch shows of an object that is gone.
const deleted = "deleted"

// Table prints rows under headers, with the columns lined up.
type Table struct {
	Now     time.Time
	Wide    bool
	AllNS   bool // Jobs of several namespaces: show which
	Headers bool
	Widths  *Widths
}

// Widths are the columns of what was printed before, so that lines which follow
// a list stand under it.
type Widths struct{ columns []int }

// Queues prints one row for each queue.
func (t Table) Queues(out io.Writer, queues []report.Queue) error {
	header := []string{"NAME", "PENDING", "ADMITTED", "USED", "HEAD", "WHY", "AGE"}
	if t.Wide {
		header = append(header, "HOLD", "REVISION")
	}
	return t.print(out, header, rowsOf(queues, t.queue))
}

// queue has the columns of kubectl get queues; a wide one says whole what is
// short there: the namespace of the head, what is used on which flavor.
func (t Table) queue(q report.Queue) []string {
	head, why, used := dash, dash, orDash(q.Summary)
	if q.Head != nil {
		head, why = q.Head.Name, orDash(q.Head.Code)
	}
	if t.Wide {
		used = limits(q.Usage)
		if q.Head != nil {
			head = q.Head.Namespace + "/" + q.Head.Name
		}
	}
	if q.Deleted {
		why = deleted
	}
	row := []string{
		q.Name, strconv.FormatInt(q.Pending, 10), strconv.FormatInt(q.Admitted, 10),
		used, head, why, t.age(q.Created),
	}
	if t.Wide {
		row = append(row, holdOf(q), orDash(short(q.Revision)))
	}
	return row
}

func holdOf(q report.Queue) string {
	if q.Held {
		return "Hold"
	}
	return "None"
}

func limits(usage []report.QueueUsage) string {
	var parts []string
	for _, u := range usage {
		parts = append(parts, fmt.Sprintf("%s/%s %s on %s",
			reason.Amount(u.Resource, u.Used), reason.Amount(u.Resource, u.Limit), u.Resource, u.Flavor))
	}
	return orDash(strings.Join(parts, ", "))
}

// Jobs prints one row for each Job.
func (t Table) Jobs(out io.Writer, jobs []report.Job) error {
	header := []string{"NAME", "QUEUE", "STATE", "RESERVED", "POSITION", "REASON", "AGE"}
	if t.AllNS {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if t.Wide {
		header = append(header, "MESSAGE")
	}
	return t.print(out, header, rowsOf(jobs, t.job))
}

func (t Table) job(j report.Job) []string {
	position := dash
	if j.Position > 0 {
		position = strconv.FormatInt(j.Position, 10)
	}
	state := j.State
	if j.Deleted {
		state = deleted
	}
	row := []string{
		j.Name, orDash(j.Queue), state, amounts(j.Reserved), position, orDash(j.Code), t.age(j.Created),
	}
	if t.AllNS {
		row = append([]string{j.Namespace}, row...)
	}
	if t.Wide {
		row = append(row, orDash(j.Message))
	}
	return row
}

func rowsOf[T any](items []T, row func(T) []string) [][]string {
	rows := make([][]string, 0, len(items))
	for _, item := range items {
		rows = append(rows, row(item))
	}
	return rows
}

func (t Table) print(out io.Writer, header []string, rows [][]string) error {
	w := printers.GetNewTabWriter(out)
	if t.Widths != nil {
		w.SetRememberedWidths(t.Widths.columns)
	}
	if t.Headers {
		fmt.Fprintln(w, strings.Join(header, "\t"))
	}
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	err := w.Flush()
	if t.Widths != nil {
		t.Widths.columns = w.RememberedWidths()
	}
	return err
}

func (t Table) age(from time.Time) string { return age(t.Now, from) }

// age in the way kubectl writes it; a clock behind the API server's shows 0s.
func age(now, from time.Time) string {
	if from.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(max(0, now.Sub(from)))
}

func orDash(text string) string {
	if text == "" {
		return dash
	}
	return text
}

// short is enough of a digest to tell revisions apart.
func short(digest string) string {
	const enough = 12
	_, bare, found := strings.Cut(digest, ":")
	if !found {
		bare = digest
	}
	return bare[:min(enough, len(bare))]
}
