{{/*
"Ours": a Job that holdshort looks after. One definition, rendered into the
mutating and validating policies and the webhook; intake.Managed says the same
in Go, and test/admission holds all of them against one table.
*/}}

{{/* The queue label. A selector matches the old object or the new one. */}}
{{- define "holdshort.objectSelector" -}}
matchExpressions:
  - {key: holdshort.dev/queue, operator: Exists}
{{- end -}}

{{/* The namespaces that are managed. */}}
{{- define "holdshort.namespaceSelector" -}}
{{- with .Values.managedNamespaces.matchLabels }}
matchLabels:
  {{- toYaml . | nindent 2 }}
{{- end }}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: [kube-system, kube-public, kube-node-lease, {{ .Release.Namespace }}]
{{- with .Values.managedNamespaces.matchExpressions }}
{{ toYaml . | indent 2 }}
{{- end }}
{{- end -}}

{{/* The same selector as text, for the manager. */}}
{{- define "holdshort.managedNamespaces" -}}
{{- $terms := list -}}
{{- range $key, $value := .Values.managedNamespaces.matchLabels -}}
{{- $terms = append $terms (printf "%s=%s" $key $value) -}}
{{- end -}}
{{- range .Values.managedNamespaces.matchExpressions -}}
{{- $values := join "," (default list .values) -}}
{{- if eq .operator "In" -}}{{- $terms = append $terms (printf "%s in (%s)" .key $values) -}}
{{- else if eq .operator "NotIn" -}}{{- $terms = append $terms (printf "%s notin (%s)" .key $values) -}}
{{- else if eq .operator "Exists" -}}{{- $terms = append $terms .key -}}
{{- else -}}{{- $terms = append $terms (printf "!%s" .key) -}}
{{- end -}}
{{- end -}}
{{- join "," $terms -}}
{{- end -}}

{{/*
How much a Job in a queue may carry: keys in each of its maps, and owner
references. CEL in the API server takes n² to look at n of them, so of more than
that nothing looks at each. intake says the same numbers.
*/}}
{{- define "holdshort.keysMax" -}}1000{{- end -}}
{{- define "holdshort.ownersMax" -}}100{{- end -}}

{{/*
CEL: the keys of the project in the map given. Of a map that is too big, those
that somebody would believe.
*/}}
{{- define "holdshort.cel.ownKeys" -}}
({{ . }}.size() <= {{ include "holdshort.keysMax" . }} ? {{ . }}.filter(k, k.startsWith('holdshort.dev/'))
{{- /* on one line, so that it fits in anywhere */ -}}
{{- " : " -}}
['queue', 'state', 'arrival', 'user', 'reservation', 'injected', 'mutated', 'message', 'nodes', 'in-queue', 'backoff', 'preempted', 'ran', 'flavors', 'bypass']
{{- ".map(k, 'holdshort.dev/' + k)" -}}
.filter(k, k in {{ . }}))
{{- end -}}

{{/* CEL: annotations of the project that a user sets on a Job; tools that copy them to the pods do. */}}
{{- define "holdshort.cel.userAnnotations" -}}
'holdshort.dev/hold', 'holdshort.dev/min-parallelism', 'holdshort.dev/max-runtime-seconds', 'holdshort.dev/required-topology', 'holdshort.dev/preferred-topology'
{{- end -}}

{{/*
CEL: of what a Job has more than a Job in a queue may. The argument is what makes
that count on an update, apart from more of it than before; empty: it is created.
*/}}
{{- define "holdshort.cel.crowded" -}}
{{- $anyhow := . -}}
{{- $keys := include "holdshort.keysMax" . -}}
{{- range $i, $of := list
  (list "labels" $keys "labels") (list "annotations" $keys "annotations")
  (list "podLabels" $keys "labels of the pod template") (list "podAnnotations" $keys "annotations of the pod template")
  (list "owners" (include "holdshort.ownersMax" .) "owner references") }}
{{- $size := printf "variables.%s.size()" (index $of 0) }}
{{ if $i }}+ {{ end }}({{ $size }} > {{ index $of 1 }}
{{- if $anyhow }} && ({{ $anyhow }} || {{ $size }} > variables.old{{ title (index $of 0) }}.size()){{ end }} ? [{{ squote (index $of 2) }}] : [])
{{- end }}
{{- end -}}

{{/* CEL: what to say about it. */}}
{{- define "holdshort.cel.crowdedMessage" -}}
'This Job has too many ' + variables.crowded.join(', ') + ': a Job in a queue has at most {{ include "holdshort.keysMax" . }} labels and as many '
+ 'annotations, its pod template too, and {{ include "holdshort.ownersMax" . }} owner references. Leave some out.'
{{- end -}}

{{/*
CEL: the Job in the variable given is ours, as far as labels of namespaces don't
say it. Nobody else's child, and the built-in controller runs it.
*/}}
{{- define "holdshort.cel.ours" -}}
(has({{ . }}.metadata.labels) && 'holdshort.dev/queue' in {{ . }}.metadata.labels
&& !(has({{ . }}.metadata.ownerReferences) && {{ . }}.metadata.ownerReferences.size() <= {{ include "holdshort.ownersMax" . }}
&& {{ . }}.metadata.ownerReferences.exists(r,
  has(r.controller) && r.controller && r.kind == 'JobSet' && r.apiVersion.startsWith('jobset.x-k8s.io/')))
&& !(has({{ . }}.spec.managedBy) && !({{ . }}.spec.managedBy in ['', 'kubernetes.io/job-controller'])))
{{- end -}}

{{/* CEL: not a write of the ledger itself. */}}
{{- define "holdshort.cel.notLedger" -}}
request.userInfo.username != {{ include "holdshort.ledgerUser" . | toJson }}
{{- end -}}

{{/*
CEL: what is being deleted is not changed by us. It is guarded all the same: a
finalizer keeps it, and what it holds, for as long as its owner likes.
*/}}
{{- define "holdshort.cel.notDeleting" -}}
request.operation == 'CREATE' || !has(oldObject.metadata.deletionTimestamp)
{{- end -}}

{{/*
CEL: the garbage collector. It takes the owner references away of what is left
behind, and must not hang on a Job that comes into its queue that way.
*/}}
{{- define "holdshort.cel.collects" -}}
request.userInfo.username in ['system:serviceaccount:kube-system:generic-garbage-collector', 'system:kube-controller-manager']
{{- end -}}

{{/*
The namespaces in which pods are charged by what they carry: a queue's quota is
one for the whole cluster, so these are more than the managed ones.
*/}}
{{- define "holdshort.chargedNamespaces" -}}
matchExpressions:
  - key: kubernetes.io/metadata.name
    operator: NotIn
    values: [kube-system, kube-public, kube-node-lease, {{ .Release.Namespace }}]
{{- end -}}

{{/* The rule that every one of them matches on: Jobs, not their status. */}}
{{- define "holdshort.jobRules" -}}
- apiGroups: [batch]
  apiVersions: [v1]
  operations: {{ . }}
  resources: [jobs]
  scope: Namespaced
{{- end -}}

{{/*
CEL: what a Job that enters a queue has no business to bring along, for people
to read. Where a mutating policy or the webhook was asked before, there is
nothing left of it. The arguments are what else a label and an annotation k may
be, and when the record of what mutate changed may come along: nobody can tell
what the webhook wrote from a forgery in the same request, so an arrival is
stamped on those that are created, who gain nothing by another, and the ledger
does not take a record's word for what mutate cannot have changed.
*/}}
{{- define "holdshort.cel.smuggled" -}}
{{- $labels := include "holdshort.cel.ownKeys" "variables.labels" -}}
{{- $annotations := include "holdshort.cel.ownKeys" "variables.annotations" -}}
{{- $podLabels := include "holdshort.cel.ownKeys" "variables.podLabels" -}}
{{- $podAnnotations := include "holdshort.cel.ownKeys" "variables.podAnnotations" -}}
{{ $labels }}.filter(k, !(k in ['holdshort.dev/queue', 'holdshort.dev/priority'])
    {{ index . 0 }}
).map(k, 'label ' + k)
+ {{ $annotations }}.filter(k, !(k in [{{ include "holdshort.cel.userAnnotations" . }}])
    && !(k == 'holdshort.dev/mutated' && {{ index . 2 }})
    && !(k == 'holdshort.dev/user' && variables.annotations[k] == request.userInfo.username)
    {{ index . 1 }}
).map(k, 'annotation ' + k)
+ {{ $podLabels }}.filter(k, k != 'holdshort.dev/priority'
    && !(k == 'holdshort.dev/queue' && variables.podLabels[k] == variables.queue)
).map(k, 'label ' + k + ' of the pod template')
+ {{ $podAnnotations }}.filter(k, !(k in [{{ include "holdshort.cel.userAnnotations" . }}])
).map(k, 'annotation ' + k + ' of the pod template')
{{- end -}}

{{/* CEL: an update takes a pod from its Job. */}}
{{- define "holdshort.cel.leavesJob" -}}
(!['batch.kubernetes.io/controller-uid', 'controller-uid', 'batch.kubernetes.io/job-name', 'job-name'].all(k,
  object.metadata.?labels[?k].orValue('') == oldObject.metadata.?labels[?k].orValue(''))
|| !(object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences
  || object.metadata.?ownerReferences.orValue([]).size() <= {{ include "holdshort.ownersMax" . }}
  && object.metadata.?ownerReferences.orValue([]).filter(r, r.?controller.orValue(false)).map(r, r.uid)
    == oldObject.metadata.?ownerReferences.orValue([]).filter(r, r.?controller.orValue(false)).map(r, r.uid)))
{{- end -}}

{{/* CEL: the template of a Job says whom to charge, and did not say so before. */}}
{{- define "holdshort.cel.chargesAnew" -}}
(object.spec.template.?metadata.?annotations[?'holdshort.dev/flavors'].hasValue()
&& object.spec.template.?metadata.?labels[?'holdshort.dev/queue'].hasValue()
&& !(request.operation == 'UPDATE'
  && oldObject.spec.template.?metadata.?annotations[?'holdshort.dev/flavors'] == object.spec.template.?metadata.?annotations[?'holdshort.dev/flavors']
  && oldObject.spec.template.?metadata.?labels[?'holdshort.dev/queue'] == object.spec.template.?metadata.?labels[?'holdshort.dev/queue']))
{{- end -}}

{{/*
The namespaces that are not managed, of those in which pods are charged: a
selector for each term that they miss, in JSON, empty if all are managed.
*/}}
{{- define "holdshort.unmanagedSelectors" -}}
{{- $not := dict "In" "NotIn" "NotIn" "In" "Exists" "DoesNotExist" "DoesNotExist" "Exists" -}}
{{- $terms := list -}}
{{- range $key, $value := .Values.managedNamespaces.matchLabels -}}
{{- $terms = append $terms (dict "key" $key "operator" "NotIn" "values" (list $value)) -}}
{{- end -}}
{{- range .Values.managedNamespaces.matchExpressions -}}
{{- $term := dict "key" .key "operator" (index $not .operator) -}}
{{- if .values -}}{{- $term = set $term "values" .values -}}{{- end -}}
{{- $terms = append $terms $term -}}
{{- end -}}
{{- $terms | toJson -}}
{{- end -}}

{{/*
CEL: a Job that has a queue carries what the ledger would believe of it, and did
not before. The label may have come later, so the old object counts only if it had
it too.
*/}}
{{- define "holdshort.cel.recordsAnew" -}}
(object.metadata.?labels[?'holdshort.dev/queue'].hasValue()
&& (['user', 'arrival', 'reservation', 'injected', 'mutated', 'backoff', 'preempted', 'ran', 'bypass'].exists(k,
  object.metadata.?annotations[?'holdshort.dev/' + k].hasValue()
  && !(request.operation == 'UPDATE' && oldObject.metadata.?labels[?'holdshort.dev/queue'].hasValue()
    && oldObject.metadata.?annotations[?'holdshort.dev/' + k] == object.metadata.?annotations[?'holdshort.dev/' + k]))
|| object.metadata.?labels[?'holdshort.dev/state'].hasValue()
  && !(request.operation == 'UPDATE' && oldObject.metadata.?labels[?'holdshort.dev/queue'].hasValue()
    && oldObject.metadata.?labels[?'holdshort.dev/state'] == object.metadata.?labels[?'holdshort.dev/state'])))
{{- end -}}

{{/* What to say about it. */}}
{{- define "holdshort.recordsMessage" -}}
What a Job with the label holdshort.dev/queue was given is written by holdshort alone, also where it does not look
after Jobs: leave out the label holdshort.dev/state and the annotations user, arrival, reservation, injected, mutated, backoff, preempted, ran
and bypass of holdshort.dev/.
{{- end -}}
