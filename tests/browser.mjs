// Opens a page of `analyze --html` in headless Chromium, and says on standard error what is wrong with it.
// node browser.mjs PAGE REPORT.json CHROMIUM [FOLDER FOR SCREENSHOTS]
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [page, json, chromium, shots] = process.argv.slice(2);
const report = JSON.parse(readFileSync(json));
const profile = mkdtempSync(join(tmpdir(), 'page-'));
const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', `--user-data-dir=${profile}`, '--remote-debugging-pipe'];
const browser = spawn(chromium, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const [to, from] = browser.stdio.slice(3);

// The DevTools protocol over a pipe: JSON, each message ended by a zero.
let last = 0, session, rest = '';
const waiting = new Map(), heard = [];
from.setEncoding('utf8');
from.on('data', text => {
  const messages = (rest + text).split('\0');
  rest = messages.pop();
  for (const message of messages.map(JSON.parse)) {
    if (message.id) waiting.get(message.id)(message);
    else heard.push(message);
  }
});
function call(method, params = {}) {
  const id = ++last;
  to.write(`${JSON.stringify({ id, method, params, sessionId: session })}\0`);
  return new Promise((done, failed) => waiting.set(id, ({ result, error }) => (error ? failed(new Error(`${method}: ${error.message}`)) : done(result))));
}
async function value(expression) {
  const { result, exceptionDetails } = await call('Runtime.evaluate', { expression: `(async () => (${expression}))()`, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
  return result.value;
}
async function press(key, code = key) {
  const text = key === 'Enter' ? '\r' : undefined;
  const virtual = { Tab: 9, Enter: 13 }[key];
  for (const type of ['keyDown', 'keyUp']) await call('Input.dispatchKeyEvent', { type, key, code, text, windowsVirtualKeyCode: virtual });
}

let failed = 0;
function check(is, what) {
  if (!is) { failed++; console.error(`wrong: ${what}`); }
}
const same = (is, expected, what) => check(JSON.stringify(is) === JSON.stringify(expected), `${what}: ${JSON.stringify(is)}, expected ${JSON.stringify(expected)}`);
async function size(width, height, scheme) {
  await call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 });
  await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
  await value('new Promise(done => requestAnimationFrame(() => setTimeout(done, 200)))');
  const wide = await value('document.documentElement.scrollWidth');
  check(wide <= width, `at ${width} pixels the page is ${wide} wide`);
  if (!shots) return;
  const { data } = await call('Page.captureScreenshot', { captureBeyondViewport: true, clip: { x: 0, y: 0, width, height: Math.min(await value('document.documentElement.scrollHeight'), 12000), scale: 1 } });
  writeFileSync(join(shots, `${width}-${scheme}.png`), Buffer.from(data, 'base64'));
}
const FLOWS = '[data-table=flows]';
/** The rows of the table of flows that are in the document, as texts by column. */
const rows = () => value(`[...document.querySelectorAll('${FLOWS} tbody tr[aria-rowindex]')].map(row => Object.fromEntries([...row.cells].map((cell, n) =>
  [document.querySelectorAll('${FLOWS} thead button')[n].textContent, cell.textContent])))`);
const number = text => Number(text.replaceAll(',', ''));

try {
  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  ({ sessionId: session } = await call('Target.attachToTarget', { targetId, flatten: true }));
  for (const domain of ['Page', 'Runtime', 'Log', 'Network', 'Accessibility']) await call(`${domain}.enable`);
  const address = pathToFileURL(resolve(page)).href;
  await call('Page.navigate', { url: address });
  for (let tries = 0; tries < 100 && await value('document.readyState') !== 'complete'; tries++) await new Promise(done => setTimeout(done, 100));

  // Figures.
  const shown = await rows();
  check(shown.length > 0, 'no flows are shown');
  for (const row of shown) {
    const flow = report.flows[Number(row['#'].slice(1))];
    same([row.from, row.to, number(row.packets)], [flow.src, flow.dst, flow.packets], `flow ${row['#']}`);
    same(number(row.resent || '0'), flow.requests.retransmits + flow.responses.retransmits, `resent of flow ${row['#']}`);
  }
  same(Number(await value(`document.querySelector('${FLOWS} table').getAttribute('aria-rowcount')`)) - 1, report.flows.length, 'number of flows');
  same(await value(`document.querySelectorAll('.findings > li').length`), report.findings.length, 'number of findings');

  // Sorting by keyboard: from the first head to that of packets.
  await value(`document.querySelector('${FLOWS} thead button').focus()`);
  for (let n = 0; n < 40 && await value('document.activeElement.textContent') !== 'packets'; n++) await press('Tab');
  await press('Enter');
  same(await value('document.activeElement.closest("th").getAttribute("aria-sort")'), 'descending', 'order after Enter');
  check(await value('getComputedStyle(document.activeElement).outlineStyle') !== 'none', 'the focus is not to be seen');
  const most = Math.max(...report.flows.map(flow => flow.packets));
  same(number((await rows())[0].packets), most, 'first row by packets');
  await press('Enter');
  same(number((await rows())[0].packets), Math.min(...report.flows.map(flow => flow.packets)), 'first row in the other order');

  // A large table: few rows in the document, the last can be reached, and the filter finds what there is.
  if (report.flows.length > 100) {
    check((await rows()).length < 200, 'all rows are in the document');
    const took = await value(`(() => {
      const scroller = document.querySelector('${FLOWS} .grid'), steps = [];
      for (let n = 1; n <= 50; n++) {
        const began = performance.now();
        scroller.scrollTop = scroller.scrollHeight * n / 50;
        scroller.dispatchEvent(new Event('scroll'));
        scroller.offsetHeight;
        steps.push(performance.now() - began);
      }
      return steps.sort((a, b) => a - b)[25];
    })()`);
    check((await rows()).length < 200, 'scrolled rows stay in the document');
    console.log(`a step of scrolling through ${report.flows.length} rows takes ${took.toFixed(1)} ms`);
    same(Number(await value(`[...document.querySelectorAll('${FLOWS} tr[aria-rowindex]')].at(-1).getAttribute('aria-rowindex')`)), report.flows.length + 1, 'last row');
    await value(`document.querySelector('${FLOWS} input[type=search]').focus()`);
    await call('Input.insertText', { text: 'resent>0' });
    const resent = report.flows.filter(flow => flow.requests.retransmits + flow.responses.retransmits > 0).length;
    check((await value(`document.querySelector('${FLOWS} output').textContent`)).startsWith(`${resent.toLocaleString('en-US')} of `), `the filter does not find ${resent} flows`);
    check((await rows()).every(row => number(row.resent) > 0), 'the filter lets others pass');
  }

  // A finding leads to its flow.
  const hasFlow = await value('(() => { const one = document.querySelector(".findings [data-flow]"); one?.click(); return Boolean(one); })()');
  if (hasFlow) check(await value('document.activeElement !== document.body'), 'a finding leads nowhere');

  // A click on an episode shows its frames, where the page has their lines.
  const lines = await value('JSON.parse(document.querySelector("article.capture script").textContent).lines');
  const EPISODE = '[data-table=episodes] tbody tr[aria-rowindex]';
  if (Object.keys(lines).length && await value(`Boolean(document.querySelector('${EPISODE}'))`)) {
    await value(`document.querySelector('${EPISODE} td').click()`);
    const told = await value(`(() => { const one = document.querySelector('[data-table=episodes] .lines'); return one.hidden ? '' : one.textContent; })()`);
    const { original_frame, nak_frame, first_retransmit_frame } = report.episodes[0];
    const frames = [original_frame, nak_frame, first_retransmit_frame].filter(frame => lines[frame]).sort((a, b) => a - b);
    check(frames.length, 'the page has no line of the first episode');
    same(told, [...new Set(frames)].map(frame => lines[frame]).join('\n'), 'the frames of an episode');
  }

  // Pictures: each is drawn, has the same data as a table, and is zoomed by its buttons.
  if (await value('document.querySelectorAll(".picture").length')) {
    await value('document.querySelectorAll(".picture, .picture details").forEach(one => { one.open = true; })');
    await value('new Promise(done => setTimeout(done, 300))');
    const [figures, canvases, tables] = await value('[".picture figure", ".picture figure canvas", ".picture figure details table"].map(what => document.querySelectorAll(what).length)');
    check(canvases >= figures && tables === figures, `${figures} figures have ${canvases} canvases and ${tables} tables`);
    const picture = () => value('document.querySelector(".picture figure canvas").toDataURL()');
    const whole = await picture();
    await value('document.querySelector(".picture figure .zoom button:nth-child(2)").click()');
    check(await picture() !== whole, 'a button does not zoom');
    await value('document.querySelector(".picture figure .zoom button:nth-child(5)").click()');
    check(await picture() === whole, 'a button does not show all again');

    // Two fingers.
    const { x, y, width } = await value(`(() => {
      const over = document.querySelector('.picture figure .u-over');
      over.scrollIntoView({ block: 'center', behavior: 'instant' });
      return over.getBoundingClientRect().toJSON();
    })()`);
    const fingers = spread => [-1, 1].map((side, id) => ({ x: x + width / 2 + side * spread, y: y + 40, id }));
    await call('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: fingers(width / 8) });
    for (let n = 1; n <= 4; n++) await call('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: fingers(width / 8 * (1 + n / 4)) });
    await call('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    check(await picture() !== whole, 'two fingers do not zoom');
  }

  // What a screen reader is told: all that can be used or seen has a name, and headings skip no level.
  const { nodes } = await call('Accessibility.getFullAXTree');
  const levels = [];
  for (const { role, name, properties = [], ignored } of nodes) {
    if (ignored) continue;
    if (['button', 'link', 'searchbox', 'textbox', 'image', 'img', 'table', 'region', 'meter'].includes(role?.value)) check(name?.value?.trim(), `a ${role.value} has no name`);
    if (role?.value === 'heading') levels.push(properties.find(one => one.name === 'level')?.value.value);
  }
  check(levels[0] === 1 && levels.every((level, n) => n === 0 || level <= levels[n - 1] + 1), `levels of headings: ${levels}`);

  // On paper there are no buttons, and the page is not endless.
  await value('document.querySelectorAll(".picture details").forEach(one => { one.open = false; })');
  await call('Emulation.setEmulatedMedia', { media: 'print' });
  if (await value('document.querySelectorAll(".tools").length')) same(await value('getComputedStyle(document.querySelector(".tools")).display'), 'none', 'buttons on paper');
  const { data: printed } = await call('Page.printToPDF', {});
  const pages = Buffer.from(printed, 'base64').toString('latin1').split(/\/Type ?\/Page\b/).length - 1;
  check(pages > 0 && pages < 60, `on paper it has ${pages} pages`);
  await call('Emulation.setEmulatedMedia', { media: '' });

  // Both looks.
  const paper = () => value('getComputedStyle(document.body).backgroundColor');
  await size(1920, 1080, 'light');
  const light = await paper();
  if (await value('document.querySelectorAll("main h2").length > 3')) {
    const side = await value('document.querySelector(".contents").getBoundingClientRect().toJSON()');
    check(side.width > 100 && side.right < 400, `the contents are not at the side: ${JSON.stringify(side)}`);
    check(await value('[...document.querySelectorAll(".contents a")].every(one => document.querySelector(one.getAttribute("href")))'), 'an entry of the contents leads nowhere');
  }
  await size(380, 800, 'dark');
  check(light !== await paper(), 'dark mode is as light');
  await size(380, 800, 'light');
  await size(1920, 1080, 'dark');

  for (const { method, params } of heard) {
    if (method === 'Runtime.exceptionThrown') check(false, `exception: ${params.exceptionDetails.exception?.description}`);
    if (method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(params.type)) check(false, `console: ${params.args[0]?.value}`);
    if (method === 'Log.entryAdded') check(false, `log: ${params.entry.text}`);
    if (method === 'Network.requestWillBeSent' && params.request.url !== address) check(false, `request to ${params.request.url}`);
  }
} catch (error) {
  check(false, error.stack);
} finally {
  const gone = new Promise(done => browser.on('exit', done));
  browser.kill();
  await gone;
  // Its other processes may still write; a folder left behind is no failure of the page.
  try {
    rmSync(profile, { recursive: true, force: true, maxRetries: 20 });
  } catch (error) {
    console.log(`${profile} stays: ${error.code}`);
  }
}
process.exitCode = failed ? 1 : 0;
