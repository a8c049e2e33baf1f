package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/cluster"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/failure"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/render"
	"github.com/holdshort/holdshort/cmd/kubectl-holdshort/internal/report"
)

// jobQuery is which Jobs to list, and how; an empty namespace is all of them.
type jobQuery struct {
	namespace, selector string
	names               []string
	queue, order        string
	states              []string
	finished            bool // those too that are over
	follow              bool
	starts              bool // tell when they start
}

func (p *plugin) jobs() *cobra.Command {
	var q jobQuery
	var all bool
	c := &cobra.Command{
		Use:   "jobs [NAME...]",
		Short: "List the queued Jobs: their state, what they hold, why they wait",
		Long: `List the queued Jobs: their state, what they hold, why they wait.

Those that are over are left out, unless they are named, or asked for with --show-finished or --state.`,
		Example: `  kubectl holdshort jobs
  kubectl holdshort jobs -A --queue research --state waiting,held
  kubectl holdshort jobs --start
  kubectl holdshort jobs -w`,
		ValidArgsFunction: p.completeJobs(""),
		RunE: func(c *cobra.Command, args []string) (err error) {
			if err := p.checkJobQuery(&q, args); err != nil {
				return err
			}
			if q.namespace, err = p.namespace(); err != nil {
				return err
			}
			if all {
				q.namespace = ""
			}
			client, err := p.connect()
			if err != nil {
				return err
			}
			return p.listJobs(c.Context(), client, q)
		},
	}
	p.listFlags(c, &q.selector, &q.follow)
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Jobs of all namespaces")
	c.Flags().StringVar(&q.queue, "queue", "", "Jobs of this queue only")
	c.Flags().StringSliceVar(&q.states, "state", nil, "Jobs in these states only, such as waiting,held")
	c.Flags().BoolVar(&q.finished, "show-finished", false, "Jobs too that are complete or failed")
	c.Flags().StringVar(&q.order, "sort-by", report.ByPosition, "one of: "+strings.Join(report.Orders(), ", "))
	c.Flags().BoolVar(&q.starts, "start", false, "tell of those first in line between when and when they start, as far as that is known")
	p.completeFlag(c, "state", cobra.FixedCompletions(report.States(), cobra.ShellCompDirectiveNoFileComp))
	p.completeFlag(c, "sort-by", cobra.FixedCompletions(report.Orders(), cobra.ShellCompDirectiveNoFileComp))
	p.completeFlag(c, "queue", p.completeQueues)
	return c
}

func (p *plugin) checkJobQuery(q *jobQuery, args []string) error {
	if err := render.CheckFormat(p.format); err != nil {
		return err
	}
	if err := cluster.CheckSelector(q.selector); err != nil {
		return err
	}
	for _, state := range q.states {
		if !slices.Contains(report.States(), state) {
			return failure.New("--state with some of "+strings.Join(report.States(), ", "), "--state %s is no state of a Job", state)
		}
	}
	if !slices.Contains(report.Orders(), q.order) {
		return failure.New("--sort-by "+strings.Join(report.Orders(), ", or "), "--sort-by %s is no order", q.order)
	}
	if len(args) == 0 {
		return nil
	}
	names, err := jobNames(args)
	q.names = names
	return err
}

// wants tells whether a row is one of those asked for.
func (q *jobQuery) wants(row report.Job) bool {
	switch {
	case q.names != nil && !slices.Contains(q.names, row.Name),
		q.queue != "" && row.Queue != q.queue,
		q.states != nil && !slices.Contains(q.states, row.State):
		return false
	}
	return !row.Over() || q.finished || q.names != nil || q.states != nil
}

// pick leaves the rows that were asked for, in their order.
func (q *jobQuery) pick(list report.JobList) report.JobList {
	list.Items = slices.DeleteFunc(list.Items, func(row report.Job) bool { return !q.wants(row) })
	list.Sort(q.order)
	return q.trim(list)
}

// trim leaves out what was not asked for: it would be news all the time.
func (q *jobQuery) trim(list report.JobList) report.JobList {
	for i := range list.Items {
		if !q.starts {
			list.Items[i].Start = nil
		}
	}
	return list
}

// missing is the names that were asked for and are not there.
func (q *jobQuery) missing(list report.JobList) error {
	var errs []error
	for _, name := range q.names {
		if !slices.ContainsFunc(list.Items, func(row report.Job) bool { return row.Name == name }) {
			errs = append(errs, failure.New("kubectl holdshort explain job/"+name+"; kubectl holdshort jobs -A lists those of all namespaces",
				"there is no queued Job %q%s", name, q.where()))
		}
	}
	return failure.Join(errs)
}

func (q *jobQuery) where() string {
	if q.namespace == "" {
		return " in any namespace"
	}
	return fmt.Sprintf(" in namespace %q", q.namespace)
}

// none says why there is nothing in the list, of so many that are over.
func (q *jobQuery) none(over int) string {
	text := "No queued Jobs" + strings.ReplaceAll(q.where(), `"`, "")
	var filters []string
	if q.selector != "" {
		filters = append(filters, "-l "+q.selector)
	}
	if q.queue != "" {
		filters = append(filters, "--queue "+q.queue)
	}
	if q.states != nil {
		filters = append(filters, "--state "+strings.Join(q.states, ","))
	}
	switch {
	case len(filters) > 0:
		text += " that match " + strings.Join(filters, " ")
	case over > 0:
		text += fmt.Sprintf(" (%d over). Try: --show-finished", over)
	case q.namespace != "":
		text += ". Try: -n NAMESPACE, or -A for all of them"
	}
	return text
}

func (p *plugin) printJobs(list report.JobList, query *jobQuery) error {
	if p.format == render.FormatName {
		return p.names("job.batch", len(list.Items), func(i int) string { return list.Items[i].Name })
	}
	if done, err := documents(p, list, list.Items, query.follow); done {
		return err
	}
	table := p.table()
	table.AllNS, table.Starts = query.namespace == "", query.starts
	return table.Jobs(p.Streams.Out, list.Items)
}
