/** Starts a run, shows it live, survives a reload, and shows how it ended. */
export const page = `<!doctype html>
<meta charset="utf-8">
<title>Agent</title>
<form><input name="task" value="fix the test" aria-label="Task"> <button>Start</button></form>
<ol></ol>
<p></p>
<script type="module">
  document.forms[0].onsubmit = async (event) => {
    event.preventDefault()
    const body = new FormData(event.target).get('task')
    location.hash = await (await fetch('/agents', { method: 'POST', body })).text()
    location.reload()
  }
  const id = location.hash.slice(1)
  const source = id && new EventSource('/agents/runs/' + id + '/chat')
  const on = (type, show) => source.addEventListener(type, (event) => show(JSON.parse(event.data).data))
  if (source) {
    on('assistant.message.final', ({ text }) => {
      document.querySelector('ol').append(Object.assign(document.createElement('li'), { textContent: text }))
    })
    on('conversation.ended', ({ outcome, problem }) => {
      document.querySelector('p').textContent = problem ? outcome + ': ' + problem : outcome
      source.close()
    })
    on('sluice.reset', () => document.querySelector('ol').replaceChildren())
  }
</script>`
