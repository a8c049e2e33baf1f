package docs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/holdshort/holdshort/ledger/decide"
	"github.com/holdshort/holdshort/ledger/demand"
	"github.com/holdshort/holdshort/ledger/quota"
	"github.com/holdshort/holdshort/ledger/reason"
	"github.com/holdshort/holdshort/ledger/resource"
	"github.com/holdshort/holdshort/ledger/sim"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func timeOfDay(at int64) string {
	return strings.TrimPrefix(time.Unix(0, at).UTC().Format("15:04"), "0")
}

func tableOf(heads ...string) *strings.Builder {
	var b strings.Builder
	b.WriteString("| " + strings.Join(heads, " | ") + " |\n|" + strings.Repeat(" --- |", len(heads)))
	return &b
}

func row(b *strings.Builder, cells ...string) {
	b.WriteString("\n| " + strings.Join(cells, " | ") + " |")
}

// events is what happened, in the order of time.
func (p *played) events() string {
	b := tableOf("at", "Job", "what happens")
	for i, r := range p.log.Records {
		if text := p.event(i, r); text != "" {
			row(b, timeOfDay(r.At), "`"+r.UID+"`", text)
		}
	}
	return b.String()
}

func (p *played) event(i int, r sim.Record) string {
	switch r.Kind {
	case sim.Admitted:
		return "starts" + p.how(r)
	case sim.Ended:
		return "ends"
	case sim.Evicted:
		if right := p.rights[moment(r.UID, r.At)]; right != "" {
			return fmt.Sprintf("is taken back for `%s` (`%s`)", r.By, right)
		}
		return fmt.Sprintf("is taken back (`%s`)", r.Code)
	case sim.Waits:
		for _, later := range p.log.Records[i+1:] {
			if later.UID == r.UID && later.At == r.At && later.Kind != sim.Ended {
				return "" // only until later in the same moment
			}
		}
		return fmt.Sprintf("waits, `%s`: %s", r.Code, p.said[moment(r.UID, r.At)])
	case sim.Arrived, sim.Deleted:
	}
	return ""
}

// how is on what a Job starts, and with how many pods if not with all.
func (p *played) how(r sim.Record) string {
	asked, set := p.asks[r.UID].PodSets[0], r.Given.PodSets[0]
	text := ""
	if set.Count < asked.Count {
		text = fmt.Sprintf(" with %d of %d pods", set.Count, asked.Count)
	}
	on := map[string][]string{} // flavor → resources
	for _, name := range asked.Requests.Names() {
		if name != resource.Pods && p.limited(r.Given.Queue, name) {
			on[set.FlavorOf(name)] = append(on[set.FlavorOf(name)], name)
		}
	}
	var parts []string
	for _, flavor := range sortedKeys(on) {
		part := "on `" + flavor + "`"
		if len(on) > 1 {
			part = strings.Join(on[flavor], " and ") + " " + part
		}
		parts = append(parts, part)
	}
	if len(parts) > 0 {
		text += " " + strings.Join(parts, ", ")
	}
	return text
}

func (p *played) limited(queue, name string) bool {
	for _, limits := range p.catalog.Queues[queue].Quota {
		if _, named := limits[name]; named {
			return true
		}
	}
	return false
}

// manifest is the Job that a row stands for.
func (p *played) manifest(name string) (string, error) {
	for _, job := range p.jobs {
		if job.Name != name {
			continue
		}
		text, err := yaml.Marshal(map[string]any{
			"apiVersion": job.APIVersion, "kind": job.Kind,
			"metadata": map[string]any{"name": job.Name, "labels": job.Labels},
			"spec": map[string]any{
				"parallelism": job.Spec.Parallelism, "completions": job.Spec.Completions,
				"template": map[string]any{"spec": map[string]any{
					"restartPolicy": "Never",
					"containers": []any{map[string]any{
						"name": "main", "image": "example.com/train:1",
						"resources": map[string]any{"limits": job.Spec.Template.Spec.Containers[0].Resources.Limits},
					}},
				}},
			},
		})
		return "```yaml\n" + string(text) + "```", err
	}
	return "", fmt.Errorf("no Job is named %q", name)
}

// span is a time in which a Job ran.
type span struct{ from, to int64 }

// chart draws when each Job waited and ran.
func (p *played) chart() string {
	ran, last := map[string][]span{}, int64(0)
	for _, r := range p.log.Records {
		last = max(last, r.At)
		switch r.Kind {
		case sim.Admitted:
			ran[r.UID] = append(ran[r.UID], span{from: r.At})
		case sim.Ended, sim.Evicted:
			ran[r.UID][len(ran[r.UID])-1].to = r.At
		case sim.Arrived, sim.Waits, sim.Deleted:
		}
	}
	first, width := last, 0
	for name, at := range p.begin {
		first, width = min(first, at), max(width, len(name))
	}
	step := stepOf(last - first)
	var b strings.Builder
	b.WriteString("```text\n" + strings.Repeat(" ", width+2))
	for at := first; at <= last; at += 6 * step {
		fmt.Fprintf(&b, "%-6s", timeOfDay(at))
	}
	for _, job := range p.jobs {
		fmt.Fprintf(&b, "\n%-*s  %s", width, job.Name, strings.TrimRight(bar(p.begin[job.Name], ran[job.Name], span{first, last}, step), " "))
	}
	return trimLines(b.String()) + "\n\n" + strings.Repeat(" ", width+2) + "█ runs   · waits\n```"
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// stepOf is the time of one character.
func stepOf(whole int64) int64 {
	for _, minutes := range []int64{1, 2, 5, 10, 20, 30, 60} {
		if step := minutes * time.Minute.Nanoseconds(); whole <= 66*step {
			return step
		}
	}
	return 6 * time.Hour.Nanoseconds()
}

func bar(arrives int64, ran []span, whole span, step int64) string {
	over := len(ran) > 0 && ran[len(ran)-1].to > 0
	var b strings.Builder
	for at := whole.from; at < whole.to || at == whole.from; at += step {
		mark := "·"
		for _, s := range ran {
			if s.from <= at && (s.to == 0 || at < s.to) {
				mark = "█"
			}
		}
		if at < arrives || over && at >= ran[len(ran)-1].to {
			mark = " "
		}
		b.WriteString(mark)
	}
	return b.String()
}

// state is what every queue has at a moment, when all has been done that was to do
// then, or until then.
func (p *played) state(when string, before bool) ([]decide.QueueState, error) {
	at, err := clock(when)
	if err != nil {
		return nil, err
	}
	best := int64(0)
	for moment := range p.states {
		if moment > best && (moment < at || moment == at && !before) {
			best = moment
		}
	}
	return p.states[best], nil
}

// tree is the state as a tree of quotas.
func (p *played) tree(states []decide.QueueState) (*quota.Tree, error) {
	limits, err := decide.Limits(p.catalog)
	if err != nil {
		return nil, err
	}
	tree := quota.NewTree(limits)
	for _, s := range states {
		for _, r := range s.Rows {
			tree.Add(tree.Queue(s.Name), tree.Pair(r.Flavor, r.Resource), r.Usage)
		}
	}
	return tree, nil
}

// use is who has how much, and may still have.
func (p *played) use(when string, before bool) (string, error) {
	states, err := p.state(when, before)
	if err != nil {
		return "", err
	}
	tree, err := p.tree(states)
	if err != nil {
		return "", err
	}
	heads := []string{"queue", "of", "own", "uses", "borrows", "may still use"}
	if p.catalog.FairSharing.Enabled {
		heads = append(heads, "share")
	}
	b := tableOf(heads...)
	for _, s := range states {
		for _, r := range s.Rows {
			amount := func(n int64) string { return reason.Amount(r.Resource, n) }
			cells := []string{
				"`" + s.Name + "`", r.Resource + " on `" + r.Flavor + "`", amount(r.Nominal), amount(r.Usage),
				amount(tree.Borrowed(tree.Queue(s.Name), tree.Pair(r.Flavor, r.Resource))), amount(r.Left),
			}
			if p.catalog.FairSharing.Enabled {
				cells = append(cells, shareText(tree.Share(tree.Queue(s.Name))))
			}
			row(b, cells...)
		}
	}
	return b.String(), nil
}

// shares is what each queue, and each cohort above it, would have with a Job.
func (p *played) shares(jobs, when string, before bool) (string, error) {
	states, err := p.state(when, before)
	if err != nil {
		return "", err
	}
	b := tableOf("Job", "whose", "own", "uses with it", "borrows", "weight", "share with it")
	for name := range strings.SplitSeq(jobs, ", ") {
		asked := p.asks[name]
		if asked == nil {
			return "", fmt.Errorf("no Job is named %q", name)
		}
		tree, err := p.tree(states)
		if err != nil {
			return "", err
		}
		node := tree.Queue(asked.Queue)
		pair := p.ask(tree, asked)
		tree.Add(node, pair, asked.PodSets[0].Requests.Times(asked.PodSets[0].Count)[tree.PairOf(pair).Resource])
		for ; tree.Parent(node) != quota.None; node = tree.Parent(node) {
			amount := func(n int64) string { return reason.Amount(tree.PairOf(pair).Resource, n) }
			row(b, "`"+name+"`", "`"+tree.Name(node)+"`", amount(tree.Subtree(node, pair)), amount(tree.Usage(node, pair)),
				amount(tree.Borrowed(node, pair)), p.weight(tree.Name(node)), shareText(tree.Share(node)))
		}
	}
	return b.String(), nil
}

// ask is what of the queue's first flavor a Job asks for.
func (p *played) ask(tree *quota.Tree, j *demand.Job) quota.PairID {
	flavor := p.catalog.Queues[j.Queue].Flavors[0]
	for _, name := range j.PodSets[0].Requests.Names() {
		if pair := tree.Pair(flavor, name); pair != quota.None {
			return pair
		}
	}
	return quota.None
}

func (p *played) weight(name string) string {
	w := p.catalog.Queues[name].Weight
	if w == nil {
		w = p.catalog.Cohorts[name].Weight
	}
	if w == nil {
		return "1"
	}
	return fmt.Sprintf("%g", float64(*w)/quota.WholeWeight)
}

func shareText(s quota.Share) string {
	if s.Infinite() {
		return "∞"
	}
	return cmp.Or(strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", s.Value()/10), "0"), "."), "0") + " %"
}
