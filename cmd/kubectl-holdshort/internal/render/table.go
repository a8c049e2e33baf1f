package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
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
	Now       time.Time
	Wide      bool
	Starts    bool // Jobs: show when they start
	AllNS     bool // Jobs of several namespaces: show which
	Headers   bool
	Namespace string // that the reader is in; what is of another one says so
	Printed   *Printed
}

// Printed is what a table printed before, so that lines which follow a list
// stand under it, and only those that say something new.
type Printed struct {
	columns []int
	headed  bool
	rows    map[string]string
}

// row is the cells of one object.
type row struct {
	key   string
	cells []string
	age   int // which cell is the age
}

// Queues prints one row for each queue.
func (t Table) Queues(out io.Writer, queues []report.Queue) error {
	header := []string{"NAME", "PENDING", "ADMITTED", "USED", "LOAN", "LEFT", "HEAD", "WHY", "AGE"}
	if t.Wide {
		header = append(header, "HOLD", "REASONS", "REVISION")
	}
	return t.print(out, header, rowsOf(queues, t.queue))
}

// queue has the columns of kubectl get queues; a wide one says whole what is
// short there: the namespace of the head, what is used on which flavor.
func (t Table) queue(q report.Queue) row {
	head, used := dash, orDash(q.Summary)
	if t.Wide {
		used = limits(q.Usage)
	}
	if q.Head != nil {
		head = q.Head.Name
		if t.Wide || q.Head.Namespace != t.Namespace {
			head = q.Head.Namespace + "/" + q.Head.Name
		}
	}
	cells := []string{
		q.Name, strconv.FormatInt(q.Pending, 10), strconv.FormatInt(q.Admitted, 10),
		used, loans(q.Usage), left(q.Usage), head, whyOf(q), t.age(q.Created),
	}
	age := len(cells) - 1
	if t.Wide {
		cells = append(cells, holdOf(q), reasonsOf(q), orDash(short(q.Revision)))
	}
	return row{q.Name, cells, age}
}

// whyOf is what stands in the way of the queue: its operator, else what its head
// waits for; where nobody is in line, what most are kept back by.
func whyOf(q report.Queue) string {
	code, jobs := q.MainReason()
	switch {
	case q.Deleted:
		return deleted
	case q.Held:
		return string(reason.QueueHeld)
	case q.Head != nil:
		return orDash(q.Head.Code)
	case jobs > 0:
		return fmt.Sprintf("%s (%d)", code, jobs)
	}
	return dash
}

func reasonsOf(q report.Queue) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(q.Reasons)) {
		parts = append(parts, fmt.Sprintf("%d %s", q.Reasons[code], code))
	}
	return orDash(strings.Join(parts, ", "))
}

func holdOf(q report.Queue) string {
	switch {
	case q.Drained:
		return "HoldAndDrain"
	case q.Held:
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

// loans is what the queue borrows or lends, in the order in which it is used; a dash
// where it does neither.
func loans(usage []report.QueueUsage) string {
	parts, some := make([]string, 0, len(usage)), false
	for _, u := range usage {
		part := dash
		switch {
		case u.Borrowed > 0:
			part = "borrows " + reason.Amount(u.Resource, u.Borrowed)
		case u.Lent > 0:
			part = "lends " + reason.Amount(u.Resource, u.Lent)
		}
		some = some || part != dash
		parts = append(parts, part)
	}
	if !some {
		return dash
	}
	return strings.Join(parts, ", ")
}

// left is what the queue may still use, in the same order.
func left(usage []report.QueueUsage) string {
	parts := make([]string, 0, len(usage))
	for _, u := range usage {
		parts = append(parts, reason.Amount(u.Resource, u.Available))
	}
	return orDash(strings.Join(parts, ", "))
}

// Jobs prints one row for each Job.
func (t Table) Jobs(out io.Writer, jobs []report.Job) error {
	header := []string{"NAME", "QUEUE", "STATE", "RESERVED", "POSITION", "REASON", "AGE"}
	if t.Starts {
		header = slices.Insert(header, len(header)-1, "STARTS(UTC)")
	}
	if t.AllNS {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if t.Wide {
		header = append(header, "MESSAGE")
	}
	return t.print(out, header, rowsOf(jobs, t.job))
}

func (t Table) job(j report.Job) row {
	position := dash
	if j.Position > 0 {
		position = strconv.FormatInt(j.Position, 10)
	}
	state := j.State
	if j.Deleted {
		state = deleted
	}
	cells := []string{
		j.Name, orDash(j.Queue), state, amounts(j.Reserved), position, orDash(j.Code), t.age(j.Created),
	}
	if t.Starts {
		cells = slices.Insert(cells, len(cells)-1, t.start(j.Start))
	}
	if t.AllNS {
		cells = append([]string{j.Namespace}, cells...)
	}
	age := len(cells) - 1
	if t.Wide {
		cells = append(cells, orDash(j.Message))
	}
	return row{j.Namespace + "/" + j.Name, cells, age}
}

func rowsOf[T any](items []T, one func(T) row) []row {
	rows := make([]row, 0, len(items))
	for _, item := range items {
		rows = append(rows, one(item))
	}
	return rows
}

// print writes the rows that say something else than when they were printed
// last, under a header if there was none yet.
func (t Table) print(out io.Writer, header []string, rows []row) error {
	if t.Printed == nil {
		t.Printed = &Printed{}
	}
	rows = t.Printed.news(rows)
	if len(rows) == 0 {
		return nil
	}
	w := printers.GetNewTabWriter(out)
	w.SetRememberedWidths(t.Printed.columns)
	if t.Headers && !t.Printed.headed {
		fmt.Fprintln(w, strings.Join(header, "\t"))
		t.Printed.headed = true
	}
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row.cells, "\t"))
	}
	err := w.Flush()
	t.Printed.columns = w.RememberedWidths()
	return err
}

// news are the rows that were not printed like that before. That something has
// become older is no news.
func (p *Printed) news(rows []row) []row {
	if p.rows == nil {
		p.rows = map[string]string{}
	}
	var fresh []row
	for _, r := range rows {
		text := strings.Join(slices.Delete(slices.Clone(r.cells), r.age, r.age+1), "\t")
		if before, printed := p.rows[r.key]; !printed || before != text {
			p.rows[r.key] = text
			fresh = append(fresh, r)
		}
	}
	return fresh
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
