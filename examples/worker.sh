#!/bin/sh
# A worker that only knows text: it reads its order from the environment and leaves work_result.txt behind.
cat > work_result.txt <<EOF
IssueRef: $WORK_ISSUE_REF
RunId: $WORK_RUN_ID
Status: ok
PR: none
Commit: 4f2c9d1
Tests: 12 passed

$WORK_TASK The last item was left out.
EOF
