// Runs the test files of the page that run.js names in one process: they share one browser and one server,
// and only the first load of the page is slow.

for (const file of (process.env.GPT_LAYERS_PAGE_TESTS ?? '').split(',')) await import(`../../${file}`)
