// Command scale plays the shape of Kueue's own scalability test through a real
// API server: 5 cohorts of 6 queues, 15,000 workloads, small, medium and large,
// with its quotas, rights to displace, priorities, requests, run times and pace.
//
// Real are etcd, the API server with the chart's admission policies, the webhook
// on every creation, and the manager, as a process of its own. Played are the
// Jobs' users, who create each as soon as its time has come and the API server
// takes it, and the machines: there are no nodes and no pods, the flavor leaves
// it to the quota alone, and no Job controller runs. When the machines see a Job
// lifted, they write what the Job controller would: that it has begun and, after its
// run time, that it is complete. One that is taken back before that is marked stopped,
// and runs anew from the beginning the next time.
//
// So does Kueue's test, with one object less in the way: it makes its Workloads
// itself and marks them finished, and has no Job that would have to be suspended,
// lifted and completed.
//
// What the machine can do at all is measured in the same run: at the end holdshort is
// taken out, and a tenth of the Jobs are created suspended, lifted and ended by this
// program alone.
//
// It fails if a queue or cohort ever holds more than it may, as the history of
// the Jobs has it, or if any Job does not end; times are only reported.
package main
