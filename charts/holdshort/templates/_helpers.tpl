{{/* Name of the chart, for labels. */}}
{{- define "holdshort.name" -}}
{{- default .Chart.Name .Values.nameOverride | replace "." "-" | trunc 48 | trimSuffix "-" -}}
{{- end -}}

{{/*
Full name: the start of every object's name. A release's name may contain dots,
start with a digit or be 53 characters long; a Service's may not, and the
longest suffix, -policy-approver, must fit into 63 characters.
*/}}
{{- define "holdshort.fullname" -}}
{{- $name := .Values.fullnameOverride -}}
{{- if not $name -}}
{{- $chart := default .Chart.Name .Values.nameOverride -}}
{{- $name = ternary .Release.Name (printf "%s-%s" .Release.Name $chart) (contains $chart .Release.Name) -}}
{{- end -}}
{{- $name = $name | replace "." "-" | trimPrefix "-" -}}
{{- if not (regexMatch "^[a-z]" $name) -}}{{- $name = printf "h-%s" $name -}}{{- end -}}
{{- $name | trunc 47 | trimSuffix "-" -}}
{{- end -}}

{{- define "holdshort.selectorLabels" -}}
app.kubernetes.io/name: {{ include "holdshort.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "holdshort.labels" -}}
{{ include "holdshort.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "holdshort.serviceAccount" -}}
{{- default (ternary (include "holdshort.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{/* The ledger's identity, as the API server sees it. */}}
{{- define "holdshort.ledgerUser" -}}
{{- default (printf "system:serviceaccount:%s:%s" .Release.Namespace (include "holdshort.serviceAccount" .)) .Values.manager.username -}}
{{- end -}}

{{/* The same as the subject of a binding. */}}
{{- define "holdshort.subjects" -}}
{{- $account := regexFind "^system:serviceaccount:[^:]+:[^:]+$" .Values.manager.username -}}
{{- if and .Values.manager.username (not $account) -}}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: {{ .Values.manager.username | toJson }}}
{{- else -}}
{{- $parts := splitList ":" (include "holdshort.ledgerUser" .) -}}
- {kind: ServiceAccount, name: {{ index $parts 3 }}, namespace: {{ index $parts 2 }}}
{{- end -}}
{{- end -}}

{{/*
API version of MutatingAdmissionPolicy, empty if Jobs are not to be suspended by
one. By what the server serves, never by its version: a server that emulates an
older one keeps reporting its own.
*/}}
{{- define "holdshort.mutatingPolicyVersion" -}}
{{- $served := "" -}}
{{- range $v := list "v1alpha1" "v1beta1" "v1" -}}
{{- if $.Capabilities.APIVersions.Has (printf "admissionregistration.k8s.io/%s/MutatingAdmissionPolicy" $v) -}}{{- $served = $v -}}{{- end -}}
{{- end -}}
{{- $want := toString .Values.admissionPolicies.mutating -}}
{{- if eq $want "true" -}}{{- default "v1" $served -}}
{{- else if eq $want "auto" -}}{{- $served -}}
{{- end -}}
{{- end -}}

{{/* Nine tenths of the memory limit, if there is one in Mi or Gi. */}}
{{- define "holdshort.memoryTarget" -}}
{{- $limit := dig "limits" "memory" "" (default dict .Values.manager.resources) | toString -}}
{{- if regexMatch "^[0-9]+Gi$" $limit -}}{{- printf "%dMiB" (div (mul (trimSuffix "Gi" $limit | int64) 9216) 10) -}}
{{- else if regexMatch "^[0-9]+Mi$" $limit -}}{{- printf "%dMiB" (div (mul (trimSuffix "Mi" $limit | int64) 9) 10) -}}
{{- end -}}
{{- end -}}

{{/* The manager's arguments about where the policy comes from. */}}
{{- define "holdshort.policyArgs" -}}
{{- with .Values.policy.configMaps }}
{{- if .labelled }}
- --policy-labelled
{{- end }}
{{- with .roots }}
- {{ printf "--policy-roots=%s" (toJson .) | quote }}
{{- end }}
{{- end }}
{{- with .Values.policy.bundle }}
{{- if .url }}
- {{ printf "--policy-url=%s" .url | quote }}
- --policy-poll={{ int .pollSeconds }}s
{{- if .credentialsSecret }}
- --policy-credentials-dir=/etc/holdshort/policy-credentials
{{- end }}
{{- if .ca }}
- --policy-ca-file=/etc/holdshort/policy-trust/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.policy.verification }}
{{- if .keys }}
- --policy-keys-dir=/etc/holdshort/policy-trust
{{- end }}
{{- if .required }}
- --policy-signature-required
{{- end }}
{{- with .scope }}
- {{ printf "--policy-signature-scope=%s" . | quote }}
{{- end }}
{{- end }}
{{- end -}}
